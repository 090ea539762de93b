import { beforeAll, describe, expect, test } from 'vitest';
import { verifyLedger } from '../../src/ledger/verify.ts';
import type { Reply, TestAccount } from '../support/client.ts';
import { useInvoices } from '../support/invoices.ts';
import { useService } from '../support/service.ts';

const service = useService();
const { funded, ask, balanceOf } = useInvoices(() => service.client);

const address = '0x8ba1f109551bD432803012645Ac136ddd64DBA72';
let friend: TestAccount;
beforeAll(async () => {
  friend = await service.client.register();
});

type Use = (account: TestAccount, key: string) => Promise<Reply>;

const send = (path: string, body: unknown, account: TestAccount, key: string) =>
  service.client.request('POST', path, { key: account.key, body, headers: { 'idempotency-key': key } });

/** Every way to use a key for something. */
const uses: Readonly<Record<string, Use>> = {
  'a transfer': (account, key) =>
    send('/agent/transfer', { to: friend.handle, amount: 1, currency: 'USDC' }, account, key),
  'a withdrawal': (account, key) => send('/circle/withdraw', { amount: 2, address }, account, key),
  'a new invoice': (account, key) =>
    send('/invoices', { toHandle: friend.handle, amount: 1, currency: 'USDC', description: 'Lunch' }, account, key),
  'a webhook': (account, key) =>
    send('/webhooks', { url: 'https://example.com/hook', events: ['payment.sent'] }, account, key),
  'a wallet': (account, key) => send('/circle/wallet', undefined, account, key),
  'play money': (account, key) => send('/sandbox/fund', { amount: 3 }, account, key),
};
/** What each does to the balance. */
const changes: Readonly<Record<string, number>> = { 'a transfer': -1, 'a withdrawal': -2, 'play money': 3 };
const pairs = Object.keys(uses).flatMap((first) =>
  Object.keys(uses).flatMap((second) => (first === second ? [] : [[first, second] as const])),
);
const use = (what: string, account: TestAccount, key: string) => (uses[what] as Use)(account, key);

describe('a key belongs to what it was used for first', () => {
  let account: TestAccount;
  beforeAll(async () => {
    account = await funded(1_000);
  });

  test.each(pairs)('%s: it is no key for %s', async (first, second) => {
    const key = `${first}, then ${second}`;
    expect((await use(first, account, key)).status).toBeLessThan(300);
    const other = await use(second, account, key);
    expect([other.status, other.body.code]).toEqual([422, 'idempotency_mismatch']);
    const again = await use(first, account, key);
    expect([again.status < 300, again.headers.get('idempotency-replayed')]).toEqual([true, 'true']);
  });

  test('and so is the payment of an invoice', async () => {
    const { body } = await ask(friend, { toHandle: account.handle });
    expect((await send(`/invoices/${body.id}/pay`, undefined, account, 'paying')).status).toBe(200);
    expect((await use('a transfer', account, 'paying')).body.code).toBe('idempotency_mismatch');
  });

  test('but a refusal leaves it free for anything', async () => {
    const poor = await service.client.register();
    expect((await use('a transfer', poor, 'k')).body.code).toBe('insufficient_balance');
    expect((await use('a withdrawal', poor, 'k')).body.code).toBe('insufficient_balance');
    expect((await use('a new invoice', poor, 'k')).status).toBe(201);
    expect((await use('a transfer', poor, 'k')).body.code).toBe('idempotency_mismatch');
  });
});

test.each([
  ['a transfer', 'a withdrawal'],
  ['a transfer', 'play money'],
  ['a new invoice', 'a withdrawal'],
])('used for the first time by %s and %s at once, exactly one is done', async (first, second) => {
  const account = await funded(1_000);
  let expected = 1_000;
  for (let round = 0; round < 12; round++) {
    const key = `round ${round}`;
    const replies = await Promise.all([use(first, account, key), use(second, account, key)]);
    const done = [first, second].filter((_, index) => (replies[index]?.status ?? 500) < 300);
    const refused = replies.filter(({ status }) => status >= 300).map(({ status, body }) => [status, body.code]);
    expect([done.length, refused.length]).toEqual([1, 1]);
    expect([
      [409, 'idempotency_in_progress'],
      [422, 'idempotency_mismatch'],
    ]).toContainEqual(refused[0]);
    expected += changes[done[0] ?? ''] ?? 0;
  }
  expect((await balanceOf(account)).USDC).toBe(String(expected));
});

test('after all that the ledger is sound', async () => {
  expect((await verifyLedger(service.database.db)).problems).toEqual([]);
});
