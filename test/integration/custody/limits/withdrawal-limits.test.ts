import { randomUUID } from 'node:crypto';
import { getAddress, type Hex } from 'viem';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createLogger } from '../../../../src/kernel/log/logger.ts';
import { houseAccount, userAccount } from '../../../../src/ledger/account-id.ts';
import { createLedger, type Ledger } from '../../../../src/ledger/ledger.ts';
import { verifyLedger } from '../../../../src/ledger/verify.ts';
import { amountOf } from '../../../../src/money/amount.ts';
import type { Asset } from '../../../../src/money/catalogue.ts';
import { holdWithdrawal } from '../../../../src/payments/withdrawals/hold-withdrawal.ts';
import { findWithdrawal } from '../../../../src/payments/withdrawals/withdrawal.ts';
import { stranger } from '../../../contract/workbench.ts';
import type { Reply } from '../../../support/client.ts';
import { useService } from '../../../support/service.ts';

// Nobody works here: what was accepted stays as it is until a test looks at it.
const service = useService({
  roles: { serve: true, work: false },
  env: { WITHDRAWAL_DAILY_LIMIT_PRO: '1000', SANDBOX_CHARGE_GAS: 'true' },
});
const { db } = service.database;
let ledger: Ledger;

beforeAll(async () => {
  ledger = createLedger({ db, logger: createLogger('silent') });
  await db.query(
    `INSERT INTO chain_cursors (chain, block_number, block_hash, read_at)
     SELECT chain, 0, '0x00', now() + interval '1 hour' FROM unnest(ARRAY['MATIC', 'ETH']) chain
     ON CONFLICT (chain) DO UPDATE SET read_at = excluded.read_at`,
  );
});
afterAll(async () => {
  await ledger?.stop();
  expect((await verifyLedger(db)).problems).toEqual([]);
});

interface Somebody {
  readonly id: bigint;
  readonly key: string;
  readonly handle: string;
  readonly email: string;
}

const whole = 1_000_000n;

async function newcomer(): Promise<Somebody> {
  const { key, handle, email } = await service.client.register();
  const { rows } = await db.query<{ id: bigint }>('SELECT id FROM accounts WHERE handle = $1', [handle]);
  return { id: rows[0]?.id ?? 0n, key, handle, email };
}

async function give({ id }: Somebody, atomic: bigint, asset: Asset = 'USDC', chain: 'MATIC' | 'ETH' = 'MATIC') {
  const { outcome } = await ledger.post({
    type: 'gift',
    amount: amountOf(asset, atomic),
    entries: [
      { account: houseAccount('custody', asset, chain), atomic: -atomic },
      { account: userAccount(id, asset, chain), atomic },
    ],
  });
  expect(outcome).toBe('posted');
}

async function rich(): Promise<Somebody> {
  const somebody = await newcomer();
  await give(somebody, 200_000n * whole);
  return somebody;
}

const withdraw = ({ key }: Somebody, body: object, idempotencyKey?: string) =>
  service.client.request('POST', '/circle/withdraw', {
    key,
    body,
    ...(idempotencyKey !== undefined && { headers: { 'idempotency-key': idempotencyKey } }),
  });
/** Before it is asked for. */
const simulate = ({ key }: Somebody, request: object) =>
  service.client.post('/account/policy/simulate', { operation: 'withdraw', request }, key);
const cancel = ({ key }: Somebody, txId: string) =>
  service.client.request('POST', `/circle/withdrawals/${txId}/cancel`, { key });
const limitsOf = async ({ key }: Somebody) => (await service.client.get('/account/withdrawal-limits', key)).body;
const balanceOf = async ({ key }: Somebody) => (await service.client.get('/circle/balance', key)).body.USDC as string;
const codeOf = ({ status, body }: Reply) => [status, body.code];

async function accepted(who: Somebody, body: object): Promise<string> {
  const reply = await withdraw(who, body);
  expect(reply).toMatchObject({ status: 200 });
  return reply.body.txId;
}

/** As if it had been asked for so many hours earlier. */
const age = (txId: string, hours: number) =>
  db.query('UPDATE withdrawals SET created_at = created_at - make_interval(hours => $2) WHERE id = $1', [txId, hours]);

const audited = async ({ id }: Somebody) =>
  (await db.query<{ action: string }>('SELECT action FROM audit_log WHERE account_id = $1 ORDER BY id', [id])).rows
    .map(({ action }) => action)
    .filter((action) => /^(withdrawal|allow)/.test(action));

/** What the owner is mailed, beside the code at the beginning. */
const mailed = async ({ id }: Somebody) =>
  (
    await db.query<{ subject: string; recipient: string }>(
      "SELECT subject, recipient FROM messages WHERE account_id = $1 AND subject LIKE '%address%' OR account_id = $1 AND subject LIKE '%allow%' ORDER BY id",
      [id],
    )
  ).rows;

describe('within a day', () => {
  test('twelve withdrawals of 10,000 at once do not go out together', async () => {
    const ada = await rich();
    const address = stranger();
    const replies = await Promise.all(Array.from({ length: 12 }, () => withdraw(ada, { amount: 10_000, address })));
    const refused = replies.filter(({ status }) => status !== 200);
    expect(replies.length - refused.length).toBe(2);
    for (const reply of refused) {
      expect(reply).toMatchObject({
        status: 403,
        body: { code: 'daily_limit_reached', limit: 25_000, used: 20_000, left: 5_000, currency: 'USDC' },
      });
      expect(reply.body.detail).toContain('only 5000 of the 24-hour limit');
      expect(reply.body.detail).toContain(reply.body.roomAt);
    }
    expect(await balanceOf(ada)).toBe('180000');
    expect(await limitsOf(ada)).toMatchObject({ limit: 25_000, used: 20_000, left: 5_000, currency: 'USDC' });
    await accepted(ada, { amount: 5_000, address });
    for (const ask of [withdraw, simulate])
      expect(codeOf(await ask(ada, { amount: 1, address }))).toEqual([403, 'daily_limit_reached']);
    expect(await limitsOf(ada)).toMatchObject({ used: 25_000, left: 0 });
    // Nobody else is concerned.
    await accepted(await rich(), { amount: 10_000, address });
  });

  test('there is room again when enough of it is a day old, and that is when it is told to be', async () => {
    const ada = await rich();
    const address = stranger();
    const [first, second] = [
      await accepted(ada, { amount: 4_000, address }),
      await accepted(ada, { amount: 7_000, address }),
    ];
    await accepted(ada, { amount: 10_000, address });
    await age(first, 23);
    await age(second, 22);
    // 4,000 are left. What leaves the window first makes room for 8,000, and not for more.
    const roomFor = async (amount: number) => (await withdraw(ada, { amount, address })).body.roomAt;
    const grownOld = async (txId: string) => {
      const { rows } = await db.query<{ at: Date }>(
        "SELECT created_at + interval '24 hours' AS at FROM withdrawals WHERE id = $1",
        [txId],
      );
      return rows[0]?.at.toISOString();
    };
    expect(await roomFor(8_000)).toBe(await grownOld(first));
    expect(await roomFor(8_000.000001)).toBe(await grownOld(second));
    expect(await limitsOf(ada)).toMatchObject({ used: 21_000, left: 4_000, moreAt: await grownOld(first) });
    await age(first, 1);
    expect(await limitsOf(ada)).toMatchObject({ used: 17_000, left: 8_000 });
    await accepted(ada, { amount: 8_000, address });
  });

  test('what failed or was cancelled does not count', async () => {
    const ada = await rich();
    const address = stranger();
    const first = await accepted(ada, { amount: 10_000, address });
    const second = await accepted(ada, { amount: 10_000, address });
    expect((await cancel(ada, first)).status).toBe(200);
    expect(await limitsOf(ada)).toMatchObject({ used: 10_000 });
    await db.query("UPDATE withdrawals SET status = 'held' WHERE id = $1", [second]);
    expect(await limitsOf(ada)).toMatchObject({ used: 10_000 });
    await db.query("UPDATE withdrawals SET status = 'failed', finished_at = now() WHERE id = $1", [second]);
    expect(await limitsOf(ada)).toMatchObject({ used: 0, moreAt: null });
  });

  test('what was accepted before is answered again', async () => {
    const ada = await rich();
    const body = { amount: 10_000, address: stranger() };
    const first = await withdraw(ada, body, 'one');
    await accepted(ada, body);
    await accepted(ada, { ...body, amount: 5_000 });
    expect((await withdraw(ada, body, 'one')).body).toEqual(first.body);
    expect(codeOf(await withdraw(ada, body, 'two'))).toEqual([403, 'daily_limit_reached']);
  });

  test('euros count as what they say, and a coin as what the market pays when it is asked for', async () => {
    const ada = await rich();
    await give(ada, 9_000n * whole, 'EURC', 'ETH');
    await give(ada, 10n ** 19n, 'ETH');
    const address = stranger();
    await accepted(ada, { amount: 9_000, currency: 'EURC', chain: 'ETH', address });
    const txId = await accepted(ada, { amount: '2', currency: 'ETH', address });
    const { rows } = await db.query<{ value: string }>('SELECT value FROM withdrawals WHERE id = $1', [txId]);
    const value = Number(rows[0]?.value) / 1e6;
    expect(value).toBeGreaterThan(5_500);
    expect(value).toBeLessThan(6_500);
    expect((await limitsOf(ada)).used).toBeCloseTo(9_000 + value, 6);
    await expect(db.query('UPDATE withdrawals SET value = 0 WHERE id = $1', [txId])).rejects.toThrow('another one');
  });

  test('what is paid to sellers counts as well', async () => {
    const ada = await rich();
    const pay = (id: string, status: string) =>
      db.query(
        `INSERT INTO purchases (id, account_id, method, url, asset, amount, fee, x402_version, terms, wallet_id, pay_to, nonce,
            valid_before, from_block, signature, status, finished_at)
         SELECT $1, $2, 'GET', 'https://seller.example', 'USDC', 20000000000, 0, 2, '{}', id, $3,
            '0x' || replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 1, 0, '0x12', $4, now()
           FROM house_wallets LIMIT 1`,
        [id, ada.id, stranger().toLowerCase(), status],
      );
    await pay('pur_taken', 'paid');
    await pay('pur_given_back', 'returned');
    expect(await limitsOf(ada)).toMatchObject({ used: 20_000 });
    expect(codeOf(await withdraw(ada, { amount: 5_001, address: stranger() }))).toEqual([403, 'daily_limit_reached']);
  });

  test('each tier has a limit of its own, and more than that is never accepted', async () => {
    const ada = await rich();
    await service.client.post('/account/tier', { tier: 'pro' }, ada.key);
    expect(await limitsOf(ada)).toMatchObject({ limit: 1_000, left: 1_000 });
    expect(await withdraw(ada, { amount: 1_001, address: stranger() })).toMatchObject({
      status: 403,
      body: {
        code: 'daily_limit_reached',
        roomAt: null,
        detail: expect.stringContaining('exceeds the limit of a whole day'),
      },
    });
    await accepted(ada, { amount: 1_000, address: stranger() });
  });
});

describe('the allow-list', () => {
  const path = '/account/withdrawal-addresses';
  const listOf = async ({ key }: Somebody) => (await service.client.get(path, key)).body;
  const add = ({ key }: Somebody, address: string) => service.client.post(path, { address }, key);
  const remove = ({ key }: Somebody, address: string) =>
    service.client.request('DELETE', `${path}/${address}`, { key });
  const turn = ({ key }: Somebody, enabled: boolean) =>
    service.client.request('PUT', `${path}/allow-list`, { key, body: { enabled } });
  const day = 24 * 3_600_000;

  /** As if so many hours had passed since its list was last changed. */
  async function wait({ id }: Somebody, hours: number): Promise<void> {
    await db.query(
      `UPDATE withdrawal_addresses SET added_at = added_at - make_interval(hours => $2),
          usable_from = usable_from - make_interval(hours => $2) WHERE account_id = $1`,
      [id, hours],
    );
    await db.query(
      'UPDATE withdrawal_allow_lists SET off_from = off_from - make_interval(hours => $2) WHERE account_id = $1',
      [id, hours],
    );
  }

  let ada: Somebody;
  let address: Hex;
  beforeEach(async () => {
    ada = await rich();
    address = stranger();
  });

  test('is empty and off, and holds at once when it is switched on', async () => {
    expect(await listOf(ada)).toEqual({ enabled: false, offFrom: null, addresses: [] });
    await accepted(ada, { amount: 1, address });
    expect((await turn(ada, true)).body).toEqual({ enabled: true, offFrom: null, addresses: [] });
    for (const ask of [withdraw, simulate])
      expect(await ask(ada, { amount: 1, address })).toMatchObject({
        status: 403,
        body: { code: 'address_not_allowed', address, usableFrom: null },
      });
    expect(await balanceOf(ada)).toBe('199999');
    // Nobody else's.
    await accepted(await rich(), { amount: 1, address });
  });

  test('an address can be used a day after it was added, whether the list is on or not', async () => {
    const { body: added } = await add(ada, address.toLowerCase());
    expect(added.address).toBe(getAddress(address));
    expect(Date.parse(added.usableFrom) - Date.parse(added.addedAt)).toBe(day);
    await turn(ada, true);
    const refused = await withdraw(ada, { amount: 1, address });
    expect(refused).toMatchObject({ status: 403, body: { code: 'address_not_allowed', usableFrom: added.usableFrom } });
    expect(refused.body.detail).toContain(added.usableFrom);
    await wait(ada, 23);
    expect(codeOf(await withdraw(ada, { amount: 1, address }))).toEqual([403, 'address_not_allowed']);
    // Adding it again neither helps nor harms.
    const { body: again } = await add(ada, address);
    await wait(ada, 1);
    expect((await listOf(ada)).addresses).toEqual([
      {
        address: getAddress(address),
        addedAt: new Date(Date.parse(again.addedAt) - 3_600_000).toISOString(),
        usableFrom: new Date(Date.parse(again.usableFrom) - 3_600_000).toISOString(),
      },
    ]);
    await accepted(ada, { amount: 1, address: address.toLowerCase() });
    expect(codeOf(await withdraw(ada, { amount: 1, address: stranger() }))).toEqual([403, 'address_not_allowed']);
  });

  test('the saved address is one like any other', async () => {
    await turn(ada, true);
    await service.client.patch('/account', { withdrawalAddress: address }, ada.key);
    expect(codeOf(await withdraw(ada, { amount: 1 }))).toEqual([403, 'address_not_allowed']);
    await add(ada, address);
    await wait(ada, 24);
    await accepted(ada, { amount: 1 });
  });

  test('an address is taken off at once, and begins anew when it comes back', async () => {
    await add(ada, address);
    await turn(ada, true);
    await wait(ada, 24);
    await accepted(ada, { amount: 1, address });
    expect((await remove(ada, address)).body).toEqual({ removed: true });
    expect(codeOf(await withdraw(ada, { amount: 1, address }))).toEqual([403, 'address_not_allowed']);
    expect(codeOf(await remove(ada, address))).toEqual([404, 'withdrawal_address_not_found']);
    await add(ada, address);
    expect(codeOf(await withdraw(ada, { amount: 1, address }))).toEqual([403, 'address_not_allowed']);
  });

  test('it is off a day after it was switched off, and that can be called back', async () => {
    await turn(ada, true);
    const { body: ending } = await turn(ada, false);
    expect(ending.enabled).toBe(true);
    expect(Math.abs(Date.parse(ending.offFrom) - Date.now() - day)).toBeLessThan(600_000);
    // What is added now could be used only later than the list ends.
    await add(ada, address);
    for (const to of [address, stranger()])
      expect(await withdraw(ada, { amount: 1, address: to })).toMatchObject({
        status: 403,
        body: {
          code: 'address_not_allowed',
          usableFrom: ending.offFrom,
          detail: expect.stringContaining(`on until ${ending.offFrom}`),
        },
      });
    await remove(ada, address);
    await wait(ada, 23);
    // Asking once more does not make it longer.
    expect(Date.parse((await turn(ada, false)).body.offFrom)).toBe(Date.parse(ending.offFrom) - 23 * 3_600_000);
    expect((await turn(ada, true)).body).toMatchObject({ enabled: true, offFrom: null });
    await wait(ada, 2);
    expect(codeOf(await withdraw(ada, { amount: 1, address }))).toEqual([403, 'address_not_allowed']);
    await turn(ada, false);
    await wait(ada, 24);
    expect(await listOf(ada)).toMatchObject({ enabled: false, offFrom: null });
    await accepted(ada, { amount: 1, address });
    expect((await turn(ada, false)).body).toMatchObject({ enabled: false, offFrom: null });
    expect((await turn(ada, true)).body).toMatchObject({ enabled: true, offFrom: null });
    expect(codeOf(await withdraw(ada, { amount: 1, address }))).toEqual([403, 'address_not_allowed']);
  });

  test('holds a hundred addresses, also when two come at once', async () => {
    await db.query(
      `INSERT INTO withdrawal_addresses (account_id, address, usable_from)
       SELECT $1, '0x' || lpad(to_hex(i), 40, '0'), now() + interval '1 day' FROM generate_series(1, 99) i`,
      [ada.id],
    );
    const replies = await Promise.all([add(ada, address), add(ada, stranger()), add(ada, stranger())]);
    expect(replies.map(codeOf).toSorted()).toEqual([
      [200, undefined],
      [409, 'too_many_withdrawal_addresses'],
      [409, 'too_many_withdrawal_addresses'],
    ]);
  });

  test('each change is mailed to the owner and written down, and what changes nothing is not', async () => {
    await add(ada, address);
    await add(ada, address);
    await turn(ada, true);
    await turn(ada, true);
    await turn(ada, false);
    await turn(ada, false);
    await remove(ada, address);
    await remove(ada, address);
    expect(await audited(ada)).toEqual([
      'withdrawal_address.added',
      'allow_list.on',
      'allow_list.ending',
      'withdrawal_address.removed',
    ]);
    expect(await mailed(ada)).toEqual(
      [
        'An address was added to your allow-list',
        'Your allow-list is on',
        'Your allow-list will be switched off',
        'An address was removed from your allow-list',
      ].map((subject) => ({ subject, recipient: ada.email })),
    );
    const { rows } = await db.query(
      "SELECT key_id IS NOT NULL AS key, address IS NOT NULL AS ip FROM audit_log WHERE account_id = $1 AND action = 'allow_list.on'",
      [ada.id],
    );
    expect(rows).toEqual([{ key: true, ip: true }]);
  });

  test.each([['0x12'], ['nobody'], [`0x${'zz'.repeat(20)}`]])('%s is no address', async (text) => {
    expect(codeOf(await add(ada, text))).toEqual([400, 'invalid_request']);
    expect(codeOf(await remove(ada, text))).toEqual([400, 'invalid_request']);
  });
});

test('another default address is mailed to the owner, with the old and the new one, and written down', async () => {
  const ada = await newcomer();
  const [first, second] = [stranger(), stranger()];
  const change = (withdrawalAddress: string | null) => service.client.patch('/account', { withdrawalAddress }, ada.key);
  await change(first);
  await change(first);
  await service.client.patch('/account', { name: 'Ada L.' }, ada.key);
  await change(second);
  await change(null);
  const { rows } = await db.query<{ details: unknown }>(
    "SELECT details FROM audit_log WHERE account_id = $1 AND action = 'withdrawal_address.default_changed' ORDER BY id",
    [ada.id],
  );
  expect(rows.map(({ details }) => details)).toEqual([
    { from: null, to: getAddress(first) },
    { from: getAddress(first), to: getAddress(second) },
    { from: getAddress(second), to: null },
  ]);
  expect((await mailed(ada)).map(({ subject }) => subject)).toEqual(
    Array.from({ length: 3 }, () => 'Your withdrawal address was changed'),
  );
  const { body } = await service.client.get('/sandbox/messages', ada.key);
  expect(JSON.stringify(body)).toContain(`withdrawals without an address went to ${getAddress(first)}`);
});

describe('cancelling', () => {
  const find = async ({ key }: Somebody, txId: string) =>
    (await service.client.get(`/circle/withdrawals/${txId}`, key)).body;
  let ada: Somebody;
  beforeEach(async () => {
    ada = await rich();
  });

  const withStatus = (status: string, txId: string) =>
    db.query('UPDATE withdrawals SET status = $2 WHERE id = $1', [txId, status]);

  test('gives the whole amount back, once, and says so', async () => {
    const events = ['withdrawal.created', 'withdrawal.failed', 'withdrawal.cancelled'];
    await service.client.post('/webhooks', { url: 'https://example.com/hook', events }, ada.key);
    const txId = await accepted(ada, { amount: 50, address: stranger() });
    expect(await balanceOf(ada)).toBe('199950');
    const replies = await Promise.all(Array.from({ length: 5 }, () => cancel(ada, txId)));
    for (const { status, body } of replies) {
      expect([status, body]).toEqual([
        200,
        expect.objectContaining({ txId, status: 'cancelled', gross: 50, error: null }),
      ]);
    }
    expect(await balanceOf(ada)).toBe('200000');
    expect(await find(ada, txId)).toMatchObject({ status: 'cancelled', txHash: null, finishedAt: expect.any(String) });
    expect((await service.client.get('/circle/withdrawals?status=cancelled', ada.key)).body.withdrawals).toHaveLength(
      1,
    );
    const { transfers } = (await service.client.get('/circle/transfers', ada.key)).body;
    expect(transfers.map(({ type, amount }: { type: string; amount: number }) => [type, amount]).slice(0, 2)).toEqual([
      ['withdrawal_returned', 50],
      ['withdrawal', 50],
    ]);
    const { rows } = await db.query<{ type: string }>(
      'SELECT type FROM ledger.events WHERE account_id = $1 ORDER BY type',
      [ada.id],
    );
    expect(rows.map(({ type }) => type)).toEqual(['withdrawal.cancelled', 'withdrawal.created']);
    expect(await audited(ada)).toEqual(['withdrawal.cancelled']);
  });

  test('under an Idempotency-Key is answered again', async () => {
    const txId = await accepted(ada, { amount: 50, address: stranger() });
    const send = () =>
      service.client.request('POST', `/circle/withdrawals/${txId}/cancel`, {
        key: ada.key,
        headers: { 'idempotency-key': 'cancel' },
      });
    const first = await send();
    expect(first.status).toBe(200);
    expect((await send()).body).toEqual(first.body);
  });

  test('is for its owner alone', async () => {
    const txId = await accepted(ada, { amount: 50, address: stranger() });
    expect(codeOf(await cancel(await newcomer(), txId))).toEqual([404, 'withdrawal_not_found']);
    expect(codeOf(await cancel(ada, 'wdr_nothing'))).toEqual([404, 'withdrawal_not_found']);
    expect((await find(ada, txId)).status).toBe('queued');
  });

  test.each([
    ['unwrapping', ['awaiting_liquidity', 'unwrapping']],
    ['sending', ['awaiting_liquidity', 'sending']],
  ])('is too late for what is %s', async (_name, states) => {
    const txId = await accepted(ada, { amount: 50, address: stranger() });
    for (const state of states) await withStatus(state, txId);
    expect(codeOf(await cancel(ada, txId))).toEqual([409, 'withdrawal_not_cancellable']);
    expect(await balanceOf(ada)).toBe('199950');
  });

  test('is too late for what has arrived', async () => {
    const txId = await accepted(ada, { amount: 50, address: stranger() });
    await withStatus('awaiting_liquidity', txId);
    await withStatus('sending', txId);
    await db.query("UPDATE withdrawals SET status = 'complete', finished_at = now() WHERE id = $1", [txId]);
    const reply = await cancel(ada, txId);
    expect([...codeOf(reply), reply.body.detail]).toEqual([
      409,
      'withdrawal_not_cancellable',
      'The withdrawal is already complete.',
    ]);
  });

  test.each([
    ['the screening', { reason: 'a hit', freeze: true }],
    ['a freeze', { reason: 'the account is frozen', freeze: false }],
  ])('is not for what %s holds', async (_name, hold) => {
    const txId = await accepted(ada, { amount: 50, address: stranger() });
    const withdrawal = await findWithdrawal(db, txId);
    if (withdrawal === undefined) throw new Error('none');
    await holdWithdrawal(db, withdrawal, hold);
    const reply = await cancel(ada, txId);
    // The reason is the operator's.
    expect([...codeOf(reply), reply.body.title, reply.body.detail]).toEqual([
      409,
      'withdrawal_not_cancellable',
      'Withdrawal cannot be cancelled',
      'The operator is reviewing this withdrawal, so it cannot be cancelled. Contact the operator.',
    ]);
    expect((await find(ada, txId)).status).toBe('held');
  });

  test('is not for what is held without a word of what holds it', async () => {
    const txId = await accepted(ada, { amount: 50, address: stranger() });
    await db.query("UPDATE withdrawals SET status = 'held', held_because = 'a hit' WHERE id = $1", [txId]);
    expect(codeOf(await cancel(ada, txId))).toEqual([409, 'withdrawal_not_cancellable']);
  });

  test('is not for whoever is frozen, also while nothing is held yet', async () => {
    const txId = await accepted(ada, { amount: 50, address: stranger() });
    await db.query('UPDATE accounts SET frozen_at = now() WHERE id = $1', [ada.id]);
    expect(codeOf(await cancel(ada, txId))).toEqual([403, 'account_frozen']);
    expect((await find(ada, txId)).status).toBe('queued');
  });

  test('waits until it is known what was sent since a backup', async () => {
    const txId = await accepted(ada, { amount: 50, address: stranger() });
    await db.query("INSERT INTO unknown_transactions (chain, sender, nonce) VALUES ('MATIC', $1, 7)", [stranger()]);
    expect(codeOf(await cancel(ada, txId))).toEqual([409, 'withdrawal_not_cancellable']);
    await db.query("UPDATE unknown_transactions SET decision = 'unrelated', decided_at = now()");
    expect((await cancel(ada, txId)).status).toBe(200);
  });

  test('that breaks off before its commit has done nothing', async () => {
    const txId = await accepted(ada, { amount: 50, address: stranger() });
    const { cancelWithdrawal } = await import('../../../../src/payments/withdrawals/cancel-withdrawal.ts');
    const broken = db.transaction(async (tx) => {
      await cancelWithdrawal(tx, ledger, { id: txId, accountId: ada.id, by: {} });
      throw new Error('ended');
    });
    await expect(broken).rejects.toThrow('ended');
    expect((await find(ada, txId)).status).toBe('queued');
    expect(await balanceOf(ada)).toBe('199950');
    expect(await audited(ada)).toEqual([]);
  });
});

describe('on Ethereum', () => {
  test.each(['USDC', 'EURC'] as const)('a withdrawal of %s has a fee that pays for its gas', async (currency) => {
    const ada = await newcomer();
    await give(ada, 1_000n * whole, currency, 'ETH');
    const body = { currency, chain: 'ETH', address: stranger() };
    const refused = await withdraw(ada, { ...body, amount: 5 });
    expect(refused).toMatchObject({ status: 400, body: { code: 'amount_too_small', currency } });
    const { leastAmount, detail } = refused.body;
    expect(leastAmount).toBeGreaterThan(5);
    expect(detail).toContain(`${leastAmount} ${currency}`);
    const cent = (Math.round(leastAmount * 100) - 1) / 100;
    for (const ask of [withdraw, simulate])
      expect(codeOf(await ask(ada, { ...body, amount: cent }))).toEqual([400, 'amount_too_small']);
    const txId = await accepted(ada, { ...body, amount: leastAmount });
    expect((await service.client.get(`/circle/withdrawals/${txId}`, ada.key)).body.gross).toBe(leastAmount);
    // On Polygon it stays as it was.
    await give(ada, 5n * whole, currency);
    if (currency === 'USDC') await accepted(ada, { ...body, amount: 1, chain: 'MATIC' });
  });

  test('whoever has not got it is told that, and what was accepted is answered again', async () => {
    const ada = await newcomer();
    const body = { amount: 5, chain: 'ETH', address: stranger() };
    expect(codeOf(await withdraw(ada, body))).toEqual([400, 'insufficient_balance']);
    await give(ada, 500n * whole, 'USDC', 'ETH');
    const key = randomUUID();
    const first = await withdraw(ada, { ...body, amount: 400 }, key);
    expect(first.status).toBe(200);
    expect((await withdraw(ada, { ...body, amount: 400 }, key)).body).toEqual(first.body);
  });
});
