import { createHmac } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import type { TestAccount } from '../../support/client.ts';
import { answerWith, startReceiver } from '../../support/receiver.ts';
import { useService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const receiver = await startReceiver();
const service = useService({
  env: { ALLOW_PRIVATE_HOSTS: receiver.host, WEBHOOK_RETRY_SECONDS: '0.2,0.2,0.2' },
});

const events = ['payment.sent', 'payment.received', 'deposit.received'];
const standardSecret = `whsec_${Buffer.from('twenty-four bytes of key').toString('base64')}`;

async function addWebhook({ key }: TestAccount, change: object = {}): Promise<string> {
  const reply = await service.client.post('/webhooks', { url: receiver.url, events, ...change }, key);
  expect(reply.status, JSON.stringify(reply.body)).toBe(201);
  return reply.body.id;
}

async function funded(): Promise<TestAccount> {
  const account = await service.client.register();
  await service.client.post('/sandbox/fund', { amount: 100 }, account.key);
  return account;
}

const eventOf = (type: string, mark: string) =>
  until(`${type} with ${mark}`, async () =>
    receiver.arrived.find(({ body }) => JSON.parse(body).type === type && body.includes(mark)),
  );

async function settled({ key }: TestAccount, query = ''): Promise<Record<string, unknown>[]> {
  return until('the deliveries to end', async () => {
    const { body } = await service.client.get(`/webhooks/deliveries?${query}`, key);
    const { deliveries } = body;
    return (
      deliveries.length > 0 && deliveries.every(({ status }: { status: string }) => status !== 'pending') && deliveries
    );
  });
}

describe('an event', () => {
  it('of a payment reaches both sides, signed so that Standard Webhooks verifies it', async () => {
    receiver.answer = answerWith(200);
    const ada = await funded();
    const bob = await service.client.register({ name: 'Bob' });
    await addWebhook(ada, { secret: standardSecret });
    await addWebhook(bob, { secret: 'any text — ü' });
    const { body: paid } = await service.client.post(
      '/agent/transfer',
      { to: bob.handle, amount: 50, currency: 'USDC', description: 'for the map' },
      ada.key,
    );
    const sent = await eventOf('payment.sent', paid.transferId);
    const received = await eventOf('payment.received', paid.transferId);

    expect(new Webhook(standardSecret).verify(sent.body, sent.headers as Record<string, string>)).toMatchObject({
      id: sent.headers['webhook-id'],
      type: 'payment.sent',
      data: {
        transferId: paid.transferId,
        amount: 50,
        fee: 0.75,
        recipientAmount: 49.25,
        currency: 'USDC',
        sender: { handle: ada.handle, name: 'Ada' },
        recipient: { handle: bob.handle, name: 'Bob' },
        description: 'for the map',
      },
    });
    const raw = new Webhook(Buffer.from('any text — ü'), { format: 'raw' });
    expect(raw.verify(received.body, received.headers as Record<string, string>)).toMatchObject({
      data: { transferId: paid.transferId, amount: 50, sender: { handle: ada.handle } },
    });
    for (const [{ headers, body }, secret] of [
      [sent, standardSecret],
      [received, 'any text — ü'],
    ] as const) {
      const hex = createHmac('sha256', Buffer.from(secret, 'utf8')).update(body).digest('hex');
      expect(headers['x-paywright-signature']).toBe(`sha256=${hex}`);
      expect(headers['content-type']).toBe('application/json');
      expect(headers['user-agent']).toBe('Paywright');
      expect(headers['webhook-id']).toMatch(/^evt_[0-9a-z]{26}$/);
    }
    expect(JSON.parse(sent.body).createdAt).toMatch(/Z$/);
  });

  it('is not signed when no secret was given', async () => {
    receiver.answer = answerWith(200);
    const ada = await service.client.register();
    await addWebhook(ada, { events: ['deposit.received'] });
    const { body: fundedBy } = await service.client.post('/sandbox/fund', { amount: 7 }, ada.key);
    const { headers, body } = await eventOf('deposit.received', fundedBy.txHash);
    expect(headers['webhook-id']).toBeDefined();
    expect(headers['webhook-timestamp']).toBeDefined();
    expect(headers).not.toHaveProperty('webhook-signature');
    expect(headers).not.toHaveProperty('x-paywright-signature');
    expect(JSON.parse(body).data).toMatchObject({
      transferId: expect.stringMatching(/^trf_/),
      depositId: expect.stringMatching(/^dep_/),
      amount: 7,
      currency: 'USDC',
      chain: 'MATIC',
      txHash: fundedBy.txHash,
    });
  });

  it('of a withdrawal tells where it went', async () => {
    receiver.answer = answerWith(200);
    const ada = await funded();
    await addWebhook(ada, { events: ['withdrawal.created', 'withdrawal.completed'] });
    const address = '0x8ba1f109551bD432803012645Ac136ddd64DBA72';
    const { body } = await service.client.post('/circle/withdraw', { amount: 50, address }, ada.key);
    const created = await eventOf('withdrawal.created', body.txId);
    const fields = {
      withdrawalId: body.txId,
      amount: 50,
      fee: 0.745,
      net: 49.255,
      currency: 'USDC',
      chain: 'MATIC',
      address,
    };
    expect(JSON.parse(created.body).data).toMatchObject(fields);
    const completed = await eventOf('withdrawal.completed', body.txId);
    expect(JSON.parse(completed.body).data).toMatchObject({ ...fields, txHash: expect.stringMatching(/^0x/) });
  });

  it('goes only to webhooks that asked for it, and to each of them once', async () => {
    receiver.answer = answerWith(200);
    const ada = await funded();
    const bob = await service.client.register();
    const both = await addWebhook(ada, { events: ['payment.sent', 'payment.sent', 'payment.received'] });
    const sentOnly = await addWebhook(ada, { events: ['payment.sent'] });
    const neither = await addWebhook(ada, { events: ['invoice.paid'] });
    await service.client.post('/agent/transfer', { to: bob.handle, amount: 1, currency: 'USDC' }, ada.key);
    await until(
      'two',
      async () => (await service.client.get('/webhooks/deliveries', ada.key)).body.deliveries.length === 2,
    );
    const deliveries = await settled(ada);
    expect(deliveries.map(({ webhookId }) => webhookId).sort()).toEqual([both, sentOnly].sort());
    expect(new Set(deliveries.map(({ eventId }) => eventId)).size).toBe(1);
    expect((await service.client.get(`/webhooks/deliveries?webhookId=${neither}`, ada.key)).body.deliveries).toEqual(
      [],
    );
    expect((await service.client.get('/webhooks', ada.key)).body.webhooks[2].events).toEqual([
      'payment.sent',
      'payment.received',
    ]);
  });
});

describe('a webhook', () => {
  it('is created, listed and deleted, and its secret is never shown', async () => {
    const ada = await service.client.register();
    const reply = await service.client.post('/webhooks', { url: receiver.url, events, secret: 'hush hush' }, ada.key);
    expect(reply.body).toEqual({
      id: expect.stringMatching(/^whk_/),
      url: receiver.url,
      events,
      status: 'active',
      signed: true,
      createdAt: expect.any(String),
    });
    const second = await addWebhook(ada);
    const { body } = await service.client.get('/webhooks?limit=1', ada.key);
    expect(body.webhooks).toMatchObject([{ id: second, signed: false }]);
    const next = await service.client.get(`/webhooks?limit=1&cursor=${body.nextCursor}`, ada.key);
    expect(next.body).toMatchObject({ webhooks: [{ id: reply.body.id }], nextCursor: null });
    expect(JSON.stringify([reply.body, body, next.body])).not.toContain('hush');
    const stored = await service.database.db.query('SELECT sealed_secret FROM webhooks WHERE id = $1', [reply.body.id]);
    expect(stored.rows[0]?.['sealedSecret'].toString('latin1')).not.toContain('hush');

    const remove = () => service.client.request('DELETE', `/webhooks/${second}`, { key: ada.key });
    expect((await remove()).body).toEqual({ id: second, deleted: true });
    expect((await remove()).body.code).toBe('webhook_not_found');
    expect((await service.client.get('/webhooks', ada.key)).body.webhooks).toHaveLength(1);
  });

  it.each([
    ['an unknown event', { events: ['payment.sent', 'payment.exploded'] }, 'invalid_request'],
    ['the test event', { events: ['webhook.test'] }, 'invalid_request'],
    ['no event', { events: [] }, 'invalid_request'],
    ['no list of events', { events: 'payment.sent' }, 'invalid_request'],
    ['a field too many', { retries: 9 }, 'invalid_request'],
    ['a secret that encodes nothing', { secret: 'whsec_not base64!' }, 'invalid_request'],
    ['an empty secret', { secret: '' }, 'invalid_request'],
    ['plain http', { url: 'http://example.com/hook' }, 'webhook_url_refused'],
    ['a private address', { url: 'https://10.0.0.1/hook' }, 'webhook_url_refused'],
    ['no URL at all', { url: 'hook' }, 'webhook_url_refused'],
  ])('with %s is refused', async (_what, change, code) => {
    const { key } = await service.client.register();
    const reply = await service.client.post('/webhooks', { url: receiver.url, events, ...change }, key);
    expect([reply.status, reply.body.code]).toEqual([400, code]);
    expect((await service.client.get('/webhooks', key)).body.webhooks).toEqual([]);
  });

  it('is one of at most twenty, also when they are made at once', async () => {
    const { key } = await service.client.register();
    const replies = await Promise.all(
      Array.from({ length: 25 }, () => service.client.post('/webhooks', { url: receiver.url, events }, key)),
    );
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(20);
    expect(replies.find(({ status }) => status !== 201)?.body.code).toBe('too_many_webhooks');
  });

  it('and its deliveries are nobody else’s business', async () => {
    receiver.answer = answerWith(200);
    const ada = await service.client.register();
    const eve = await service.client.register();
    const id = await addWebhook(ada);
    const { body: test } = await service.client.post(`/webhooks/${id}/test`, undefined, ada.key);
    const asEve = async (method: string, path: string) =>
      (await service.client.request(method, path, { key: eve.key })).status;
    expect(await asEve('DELETE', `/webhooks/${id}`)).toBe(404);
    expect(await asEve('POST', `/webhooks/${id}/test`)).toBe(404);
    expect(await asEve('GET', `/webhooks/deliveries/${test.id}`)).toBe(404);
    expect(await asEve('POST', `/webhooks/deliveries/${test.id}/retry`)).toBe(404);
    expect((await service.client.get(`/webhooks/deliveries?webhookId=${id}`, eve.key)).body.deliveries).toEqual([]);
    expect(await asEve('GET', '/webhooks/deliveries/%00')).toBe(400);
    expect(await asEve('GET', '/webhooks/deliveries?cursor=%00')).toBe(400);
    expect(await asEve('DELETE', '/webhooks/%00')).toBe(400);
  });

  it('that is deleted takes what waited for it along, and nothing can be replayed to it', async () => {
    const ada = await service.client.register();
    const id = await addWebhook(ada);
    receiver.answer = answerWith(500);
    await service.client.post(`/webhooks/${id}/test`, undefined, ada.key);
    await until('an attempt', async () => receiver.arrived.some(({ body }) => body.includes(id)));
    await service.client.request('DELETE', `/webhooks/${id}`, { key: ada.key });
    const [delivery] = await settled(ada);
    expect(delivery).toMatchObject({ status: 'failed', nextAttemptAt: null });
    const retry = await service.client.post(`/webhooks/deliveries/${delivery?.['id']}/retry`, undefined, ada.key);
    expect([retry.status, retry.body.code]).toEqual([409, 'webhook_inactive']);
  });
});

describe('a delivery', () => {
  it('of a test event is shown with every attempt, and can be replayed by hand', async () => {
    const ada = await service.client.register();
    const id = await addWebhook(ada);
    receiver.answer = answerWith(500, `no: ${'x'.repeat(5_000)}`);
    const { body: test } = await service.client.post(`/webhooks/${id}/test`, undefined, ada.key);
    expect(test).toMatchObject({ webhookId: id, event: 'webhook.test', status: 'pending', attempts: 0 });
    await settled(ada);
    const failed = (await service.client.get(`/webhooks/deliveries/${test.id}`, ada.key)).body;
    expect(failed).toMatchObject({
      status: 'failed',
      responseCode: 500,
      attempts: 4,
      nextAttemptAt: null,
      error: 'The receiver answered 500.',
      eventId: test.eventId,
    });
    expect(failed.attemptLog.map(({ number }: { number: number }) => number)).toEqual([4, 3, 2, 1]);
    expect(failed.attemptLog[0].responseBody).toHaveLength(1_024);
    expect(JSON.parse(failed.body)).toMatchObject({ id: test.eventId, type: 'webhook.test', data: { webhookId: id } });

    receiver.answer = answerWith(201);
    const retry = () => service.client.post(`/webhooks/deliveries/${test.id}/retry`, undefined, ada.key);
    expect((await retry()).body).toMatchObject({ id: test.id, status: 'pending', attempts: 4 });
    expect(await settled(ada)).toMatchObject([{ status: 'delivered', responseCode: 201, attempts: 5, error: null }]);
    const held: ServerResponse[] = [];
    receiver.answer = (_arrived, response) => void held.push(response);
    expect((await retry()).status).toBe(200);
    expect((await retry()).body.code).toBe('delivery_pending');
    const replayed = await until('the replay', async () => held[0]);
    receiver.answer = answerWith(500);
    replayed.writeHead(500).end();
    // A replay has all its retries again.
    expect(await settled(ada)).toMatchObject([{ status: 'failed', attempts: 9 }]);
    const sent = receiver.arrived.filter(({ eventId }) => eventId === test.eventId);
    expect(sent).toHaveLength(9);
    expect(new Set(sent.map(({ body }) => body)).size).toBe(1);
  });

  it('is found by webhook and by status, a page at a time', async () => {
    receiver.answer = (arrived, response) => void response.writeHead(arrived.path === '/bad' ? 500 : 200).end();
    const ada = await service.client.register();
    const good = await addWebhook(ada);
    const bad = await addWebhook(ada, { url: receiver.url.replace('/hook', '/bad') });
    for (const id of [good, bad, good, bad, good])
      await service.client.post(`/webhooks/${id}/test`, undefined, ada.key);
    await settled(ada);
    const list = async (query: string) => (await service.client.get(`/webhooks/deliveries?${query}`, ada.key)).body;
    const ids = (page: { deliveries: { id: string }[] }) => page.deliveries.map(({ id }) => id);
    const all = ids(await list(''));
    expect(all).toHaveLength(5);
    expect(all).toEqual(all.toSorted().reverse());
    const first = await list('limit=3');
    const second = await list(`limit=3&cursor=${first.nextCursor}`);
    expect([...ids(first), ...ids(second)]).toEqual(all);
    expect(second.nextCursor).toBeNull();
    expect(ids(await list('status=delivered'))).toHaveLength(3);
    expect(ids(await list('status=failed'))).toHaveLength(2);
    expect(ids(await list(`status=failed&webhookId=${good}`))).toEqual([]);
    expect(ids(await list(`webhookId=${bad}`))).toHaveLength(2);
    expect(ids(await list('status=pending'))).toEqual([]);
    expect((await service.client.get('/webhooks/deliveries?status=lost', ada.key)).status).toBe(400);
  });
});
