import { describe, expect, it } from 'vitest';
import { answerWith, startReceiver } from '../../support/receiver.ts';
import { useService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const receiver = await startReceiver();
const service = useService({ env: { ALLOW_PRIVATE_HOSTS: receiver.host } });

interface Event {
  readonly id: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

async function listening() {
  const account = await service.client.register();
  await service.client.post('/sandbox/fund', { amount: 100 }, account.key);
  const opened = await service.client.post('/account/events', undefined, account.key);
  expect(opened.status, JSON.stringify(opened.body)).toBe(200);
  const read = (after: string, query = 'wait=30') =>
    service.client.get(`/account/events?after=${after}&${query}`, account.key);
  return { ...account, cursor: opened.body.cursor as string, read };
}

const pay = (key: string, to: string, amount = 1) =>
  service.client.post('/agent/transfer', { to, amount, currency: 'USDC' }, key);

describe('the event feed', () => {
  it('gives each event once and in order, as a webhook gets it', async () => {
    receiver.answer = answerWith(200);
    const ada = await listening();
    const bob = await service.client.register({ name: 'Bob' });
    await service.client.post('/webhooks', { url: receiver.url, events: ['payment.sent'] }, ada.key);
    const paid: string[] = [];
    for (let nth = 1; nth <= 5; nth++) paid.push((await pay(ada.key, bob.handle, nth)).body.transferId);

    const seen: Event[] = [];
    let after = ada.cursor;
    while (seen.length < 5) {
      const { status, body } = await ada.read(after, 'wait=30&limit=2');
      expect(status).toBe(200);
      expect(body.events.length).toBeGreaterThan(0);
      expect(body.events.length).toBeLessThanOrEqual(2);
      seen.push(...body.events);
      after = body.cursor;
    }
    expect(seen.map(({ type, data }) => [type, data['transferId']])).toEqual(paid.map((id) => ['payment.sent', id]));
    expect((await ada.read(after, '')).body).toEqual({ events: [], cursor: after, more: false });
    expect((await ada.read(ada.cursor, 'limit=3')).body).toEqual({
      events: seen.slice(0, 3),
      cursor: seen[2]?.id,
      more: true,
    });
    // Opening it again begins behind them.
    expect((await service.client.post('/account/events', undefined, ada.key)).body).toEqual({ cursor: after });

    const delivered = await until('the webhook to get them', async () => {
      const own = receiver.arrived.filter(({ body }) => paid.some((id) => body.includes(id)));
      return own.length === 5 && own;
    });
    const bytes = new Map(delivered.map(({ eventId, body }) => [eventId, body]));
    for (const event of seen) expect(JSON.stringify(event)).toBe(bytes.get(event.id));
  });

  it('answers a waiting request as soon as something happens', async () => {
    const ada = await listening();
    const bob = await service.client.register();
    const waiting = ada.read(ada.cursor);
    await pay(bob.key, ada.handle);
    await pay(ada.key, bob.handle);
    expect((await waiting).body.events).toMatchObject([{ type: 'payment.sent' }]);
  });

  it('has the events of the account only', async () => {
    const ada = await listening();
    const eve = await listening();
    await pay(ada.key, eve.handle);
    const { body } = await eve.read(eve.cursor);
    expect(body.events).toMatchObject([{ type: 'payment.received' }]);
    expect((await eve.read((await ada.read(ada.cursor)).body.cursor, '')).body.code).toBe('events_gone');
  });

  it('refuses a cursor that it does not know, and an account without a feed', async () => {
    const ada = await listening();
    const unknown = await ada.read('evt_01kp3v2m8rfk2s6y0e6v9q4w1x', '');
    expect([unknown.status, unknown.body.code]).toEqual([410, 'events_gone']);
    const bob = await service.client.register();
    expect((await service.client.get(`/account/events?after=${ada.cursor}`, bob.key)).status).toBe(410);
    for (const query of ['after=12', 'after=evt_', `after=${ada.cursor}&wait=31`, `after=${ada.cursor}&limit=101`, ''])
      expect((await service.client.get(`/account/events?${query}`, ada.key)).status, query).toBe(400);
  });

  it('needs the scope manage to be opened, and read to be read', async () => {
    const ada = await listening();
    const keyFor = async (scope: string) => {
      const { body } = await service.client.post('/account/keys', { name: scope, scopes: [scope] }, ada.key);
      return body.apiKey as string;
    };
    const readOnly = await keyFor('read');
    expect((await service.client.post('/account/events', undefined, readOnly)).body.code).toBe('scope_required');
    expect((await service.client.get(`/account/events?after=${ada.cursor}`, readOnly)).status).toBe(200);
    const payOnly = await keyFor('pay');
    expect((await service.client.get(`/account/events?after=${ada.cursor}`, payOnly)).body.code).toBe('scope_required');
  });

  it('tells nothing to a key that was revoked while it waited', async () => {
    const ada = await listening();
    const { body: lesser } = await service.client.post('/account/keys', { name: 'other', scopes: ['read'] }, ada.key);
    const { cursor } = (await ada.read(ada.cursor)).body;
    const waiting = service.client.get(`/account/events?after=${cursor}&wait=30`, lesser.apiKey);
    await service.client.request('DELETE', `/account/keys/${lesser.id}`, { key: ada.key });
    expect((await waiting).status).toBe(401);
    expect((await ada.read(cursor)).body.events).toMatchObject([{ type: 'key.revoked' }]);
  });

  it('ends with the account', async () => {
    const ada = await service.client.register();
    await service.client.post('/account/events', undefined, ada.key);
    const { status } = await service.client.post('/account/close', { password: ada.password }, ada.key);
    expect(status).toBe(200);
  });
});
