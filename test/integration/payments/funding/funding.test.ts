import { beforeAll, describe, expect, test } from 'vitest';
import type { TestAccount } from '../../../support/client.ts';
import { addressOf, askForLink, endLink, linkIn, payFromWallet, type TestLink } from '../../../support/funding.ts';
import { startReceiver } from '../../../support/receiver.ts';
import { useService } from '../../../support/service.ts';

const receiver = await startReceiver();
const service = useService({ env: { ALLOW_PRIVATE_HOSTS: receiver.host } });
const { db } = service.database;

let ada: TestAccount;
beforeAll(async () => {
  ada = await service.client.register({ name: 'Ada' });
});

const ask = (account: TestAccount, amount: number, currency?: string) =>
  askForLink(service.client, account, amount, currency);
const look = async (account: TestAccount, { id }: TestLink) =>
  (await service.client.get(`/circle/buy-sessions/${id}`, account.key)).body;
const statusOf = async (account: TestAccount, link: TestLink) => (await look(account, link)).status;
const balance = async ({ key }: TestAccount) => (await service.client.get('/circle/balance', key)).body;
const pay = async (account: TestAccount, amount: number, currency = 'USDC') =>
  payFromWallet(service.client, { to: await addressOf(service.client, account), amount, currency });

describe('a link', () => {
  test('is answered as specified, for 20 minutes, with a message to pass on', async () => {
    const before = Date.now();
    const { status, body, headers } = await service.client.post('/circle/buy-session', { amount: 25 }, ada.key);
    expect(status).toBe(200);
    expect(body).toMatchObject({ amount: 25, currency: 'USDC', id: expect.stringMatching(/^fnd_/) });
    expect(body.url).toMatch(new RegExp(`^${service.url}/buy\\?token=[\\w-]{43}$`));
    expect(new Date(body.expiresAt).getTime() - before).toBeGreaterThan(19.9 * 60_000);
    expect(new Date(body.expiresAt).getTime() - before).toBeLessThan(20.5 * 60_000);
    for (const word of ['25 USDC', 'Ada', ada.handle, body.url, 'card', 'wallet']) expect(body.message).toContain(word);
    expect(headers.get('cache-control')).toBe('no-store');
  });

  test('keeps its token nowhere', async () => {
    const { token } = await ask(ada, 25);
    const { rows } = await db.query<{ text: string }>('SELECT l::text AS text FROM funding_links l');
    const kept = await db.query<{ text: string }>('SELECT k::text AS text FROM ledger.idempotency_keys k');
    expect([...rows, ...kept.rows].some(({ text }) => text.includes(token))).toBe(false);
  });

  test('is the same when the request is sent again, though no answer with a secret was kept', async () => {
    const send = (amount: number) =>
      service.client.request('POST', '/circle/buy-session', {
        key: ada.key,
        body: { amount },
        headers: { 'idempotency-key': 'link-1' },
      });
    const first = await send(7);
    const second = await send(7);
    expect(second.body).toEqual(first.body);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect((await send(8)).body.code).toBe('idempotency_mismatch');
    const { token } = linkIn(first);
    const kept = await db.query<{ text: string }>('SELECT k::text AS text FROM ledger.idempotency_keys k');
    expect(kept.rows.length).toBeGreaterThan(0);
    expect(kept.rows.some(({ text }) => text.includes(token))).toBe(false);
  });

  test.each([
    ['half a dollar', { amount: 0.5 }],
    ['nothing', { amount: 0 }],
    ['a negative amount', { amount: -5 }],
    ['no amount at all', { amount: 'x' }],
    ['more than the operator allows', { amount: 100_000.000001 }],
    ['seven decimals', { amount: 1.0000001 }],
    ['dollars', { amount: 25, currency: 'USD' }],
    ['no amount', {}],
    ['another field', { amount: 25, to: 'x' }],
  ])('for %s is refused', async (_what, body) => {
    const { body: before } = await service.client.get('/circle/buy-sessions?limit=1', ada.key);
    const reply = await service.client.post('/circle/buy-session', body, ada.key);
    expect([reply.status, reply.body.code]).toEqual([400, 'invalid_request']);
    expect(reply.body.errors).toHaveLength(1);
    const { body: after } = await service.client.get('/circle/buy-sessions?limit=1', ada.key);
    expect(after).toEqual(before);
  });

  test('may ask for the smallest and the largest amount', async () => {
    for (const amount of [1, 100_000]) await ask(ada, amount);
  });

  test('needs a key', async () => {
    expect((await service.client.post('/circle/buy-session', { amount: 25 })).status).toBe(401);
    expect((await service.client.get('/circle/buy-sessions')).status).toBe(401);
  });
});

describe('a deposit', () => {
  test('completes the link in the commit that credits it, and a webhook tells of both', async () => {
    const grace = await service.client.register({ name: 'Grace' });
    const events = ['funding.completed', 'deposit.received'];
    await service.client.post('/webhooks', { url: receiver.url, events }, grace.key);
    const link = await ask(grace, 25);
    expect(await look(grace, link)).toMatchObject({ status: 'open', received: null, transferId: null, card: null });
    const txHash = await pay(grace, 25);
    await expect.poll(() => statusOf(grace, link)).toBe('completed');
    expect(await balance(grace)).toMatchObject({ USDC: '25', EURC: '0' });
    const done = await look(grace, link);
    expect(done).toMatchObject({ received: 25, txHash, chain: 'MATIC', transferId: expect.stringMatching(/^trf_/) });
    const { body } = await service.client.get('/circle/deposits', grace.key);
    expect(body.deposits[0]).toMatchObject({ txHash, transferId: done.transferId });
    await expect.poll(() => receiver.arrived.map((one) => JSON.parse(one.body).type).sort()).toEqual(events.toSorted());
    const told = receiver.arrived.map((one) => JSON.parse(one.body)).find(({ type }) => type === 'funding.completed');
    expect(told.data).toMatchObject({
      id: link.id,
      transferId: done.transferId,
      amount: 25,
      asked: 25,
      currency: 'USDC',
      txHash,
      depositId: body.deposits[0].depositId,
    });
  });

  test('completes the oldest link of its currency that it covers, and no other', async () => {
    const user = await service.client.register();
    const [large, small, smaller, euros] = [
      await ask(user, 100),
      await ask(user, 20),
      await ask(user, 10),
      await ask(user, 5, 'EURC'),
    ];
    const states = async () => Promise.all([large, small, smaller, euros].map((link) => statusOf(user, link)));
    await pay(user, 5);
    await expect.poll(async () => (await balance(user)).USDC).toBe('5');
    expect(await states()).toEqual(['open', 'open', 'open', 'open']);
    await pay(user, 30);
    await expect.poll(async () => (await balance(user)).USDC).toBe('35');
    expect(await states()).toEqual(['open', 'completed', 'open', 'open']);
    expect(await look(user, small)).toMatchObject({ amount: 20, received: 30 });
    await pay(user, 5, 'EURC');
    await pay(user, 10);
    await expect.poll(states).toEqual(['open', 'completed', 'completed', 'completed']);
    // A second payment is a deposit like any other.
    await pay(user, 10);
    await expect.poll(async () => (await balance(user)).USDC).toBe('55');
    expect(await statusOf(user, large)).toBe('open');
  });

  test('after the end of the link is credited as always, and the link stays expired', async () => {
    const user = await service.client.register();
    const link = await ask(user, 25);
    await endLink(db, link.id);
    expect(await statusOf(user, link)).toBe('expired');
    await pay(user, 25);
    await expect.poll(async () => (await balance(user)).USDC).toBe('25');
    expect(await look(user, link)).toMatchObject({ status: 'expired', received: null });
    const page = await fetch(link.url);
    expect(page.status).toBe(410);
    // It is for no link: who was given this one does not learn of it.
    const text = await page.text();
    expect(text).toContain('the payment is added to the balance when it arrives, even if it is late');
    expect(text).not.toContain('was added');
  });
});

describe('the list', () => {
  test('has an account’s own links, newest first, page by page and by state', async () => {
    const user = await service.client.register();
    const links: TestLink[] = [];
    for (let amount = 1; amount <= 5; amount++) links.push(await ask(user, amount));
    await endLink(db, links[0]?.id ?? '');
    const list = async (query: string) => (await service.client.get(`/circle/buy-sessions${query}`, user.key)).body;
    const first = await list('?limit=3');
    const second = await list(`?limit=3&cursor=${first.nextCursor}`);
    expect([...first.buySessions, ...second.buySessions].map(({ amount }) => amount)).toEqual([5, 4, 3, 2, 1]);
    expect(second.nextCursor).toBeNull();
    expect((await list('?status=expired')).buySessions).toMatchObject([{ id: links[0]?.id, status: 'expired' }]);
    expect((await list('?status=open')).buySessions).toHaveLength(4);
    expect(JSON.stringify(first)).not.toContain('token');
    for (const wrong of ['?status=paid', '?cursor=x', '?limit=0']) {
      const reply = await service.client.get(`/circle/buy-sessions${wrong}`, user.key);
      expect([wrong, reply.status]).toEqual([wrong, 400]);
    }
    expect((await service.client.get(`/circle/buy-sessions/${links[1]?.id}`, ada.key)).body.code).toBe(
      'funding_link_not_found',
    );
  });
});

test('what is asked for cannot be changed afterwards, not even in the database', async () => {
  const { id } = await ask(ada, 25);
  await expect(db.query('UPDATE funding_links SET atomic = 1 WHERE id = $1', [id])).rejects.toThrow('another one');
  const { rows } = await db.query<{ id: string }>(
    'SELECT id FROM funding_links WHERE completed_at IS NOT NULL LIMIT 1',
  );
  await expect(db.query("UPDATE funding_links SET arriving = '[1]' WHERE id = $1", [rows[0]?.id])).rejects.toThrow(
    'is completed',
  );
});
