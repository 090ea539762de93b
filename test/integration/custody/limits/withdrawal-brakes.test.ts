import { Command } from 'commander';
import { parseEther, toHex } from 'viem';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createKeysProvider } from '../../../../src/custody/adapters/keys/keys-provider.ts';
import { limitMetrics } from '../../../../src/custody/limits/limit-metrics.ts';
import { houseWallet, openHouseWallets } from '../../../../src/custody/wallets/house-wallets.ts';
import type { WalletProvider } from '../../../../src/custody/wallets/provider.ts';
import type { Database, Transaction } from '../../../../src/kernel/db/database.ts';
import { Ended } from '../../../../src/kernel/sagas/checkpoint.ts';
import { createSagaRunner } from '../../../../src/kernel/sagas/run-saga.ts';
import { createSecrets } from '../../../../src/kernel/secrets/secrets.ts';
import { houseAccount } from '../../../../src/ledger/account-id.ts';
import { spendableBalances } from '../../../../src/ledger/balances.ts';
import { createLedger, type Ledger } from '../../../../src/ledger/ledger.ts';
import { verifyLedger } from '../../../../src/ledger/verify.ts';
import { amountOf } from '../../../../src/money/amount.ts';
import { withdrawalHandler } from '../../../../src/payments/withdrawals/advance-withdrawal.ts';
import { cancelWithdrawal } from '../../../../src/payments/withdrawals/cancel-withdrawal.ts';
import { addWithdrawalCommands } from '../../../../src/payments/withdrawals/commands.ts';
import { holdWithdrawal } from '../../../../src/payments/withdrawals/hold-withdrawal.ts';
import { openWithdrawal } from '../../../../src/payments/withdrawals/open-withdrawal.ts';
import {
  findWithdrawal,
  type Withdrawal,
  type WithdrawalSagaParts,
} from '../../../../src/payments/withdrawals/withdrawal.ts';
import { stranger } from '../../../contract/workbench.ts';
import { noBrakes } from '../../../support/brakes.ts';
import { useChains } from '../../../support/chains.ts';
import { useDatabase } from '../../../support/database.ts';
import { createTestLog } from '../../../support/deposits.ts';
import { createOwners, fund } from '../../../support/ledger.ts';
import { pausedAt } from '../../../support/paused-database.ts';

const database = useDatabase();
const { db } = database;
const chains = useChains(database);
const log = createTestLog();
const { logger } = log;
let ledger: Ledger;
let provider: WalletProvider;

beforeAll(async () => {
  const secrets = createSecrets('s'.repeat(32));
  provider = await createKeysProvider({ db, secrets, networks: chains.networks, logger });
  await openHouseWallets(db, provider, chains.networks);
  ledger = createLedger({ db, logger });
  const { address } = await houseWallet(db, 'treasury', 'MATIC');
  await chains.rpc('MATIC', 'hardhat_setBalance', [address, toHex(parseEther('10'))]);
  await chains.mint('MATIC', 'USDC', address, 1_000_000_000n);
  await db.query("INSERT INTO chain_cursors (chain, block_number, block_hash) VALUES ('MATIC', 1000000000, '0x00')");
});
// What was let go in one test does not count in the next.
beforeEach(async () => {
  log.clear();
  await rewrite("let_go_at = let_go_at - interval '2 hours', held_by = NULL");
});
afterAll(async () => {
  await ledger?.stop();
  expect((await verifyLedger(db)).problems).toEqual([]);
});

/** Changes what stands in the table, also of what is over. */
async function rewrite(change: string, where = 'true'): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.query('ALTER TABLE withdrawals DISABLE TRIGGER withdrawals_guard');
    await tx.query(`UPDATE withdrawals SET ${change} WHERE ${where}`);
    await tx.query('ALTER TABLE withdrawals ENABLE TRIGGER withdrawals_guard');
  });
}

interface Opened {
  readonly id: string;
  readonly owner: bigint;
  readonly paid: () => Promise<bigint>;
}

/** Fifty of the hundred that somebody has, or half of something else. */
async function newWithdrawal(gross = 50_000_000n): Promise<Opened> {
  const [owner] = await createOwners(db, 1);
  if (owner === undefined) throw new Error('nobody');
  await fund(ledger, [owner], 2n * gross);
  const to = stranger();
  const { id } = await db.transaction((tx) =>
    openWithdrawal(tx, ledger, {
      accountId: owner.id,
      chain: 'MATIC',
      address: to,
      gross: amountOf('USDC', gross),
      fee: amountOf('USDC', 1_000_000n),
    }),
  );
  return { id, owner: owner.id, paid: () => chains.balanceOf('MATIC', 'USDC', to) };
}

async function look(id: string): Promise<Withdrawal> {
  const found = await findWithdrawal(db, id);
  if (found === undefined) throw new Error(`there is no ${id}`);
  return found;
}

const statusOf = async ({ id }: Opened) => (await look(id)).status;
const balanceOf = async ({ owner }: Opened) => (await spendableBalances(db, owner, 'MATIC')).USDC.atomic;

async function wasAsked({ id }: Opened): Promise<boolean> {
  const { rows } = await db.query('SELECT FROM chain_steps WHERE saga_id = $1 AND asked_at IS NOT NULL', [id]);
  return rows.length > 0;
}

const clear: WithdrawalSagaParts['screening'] = { check: async () => ({ clear: true }) };
const suspicious: WithdrawalSagaParts['screening'] = { check: async () => ({ clear: false, reason: 'a hit' }) };

/** Takes it as far as it goes. */
function advance({ id }: Pick<Opened, 'id'>, changed: Partial<WithdrawalSagaParts> = {}): Promise<void> {
  const parts = { db, ledger, networks: chains.networks, provider, screening: clear, logger, ...changed };
  return createSagaRunner({ db: parts.db, logger, handlers: [withdrawalHandler(parts)] }).advance({
    saga: 'withdrawal',
    id,
  });
}

const cancel = ({ id, owner: accountId }: Opened, on: Database = db) =>
  on.transaction((tx) => cancelWithdrawal(tx, ledger, { id, accountId, by: {} }));

async function operator(...words: string[]): Promise<string> {
  const said: string[] = [];
  const program = new Command().exitOverride();
  addWithdrawalCommands(program, {
    withMoney: (work) => work({ db, ledger }),
    say: (line) => void said.push(line),
    operator: 'olga',
  });
  await program.parseAsync(['withdrawals', ...words], { from: 'user' });
  return said.join('\n');
}

const audited = async ({ owner }: Opened) =>
  (
    await db.query<{ action: string; operator: string | null }>(
      'SELECT action, operator FROM audit_log WHERE account_id = $1 ORDER BY id',
      [owner],
    )
  ).rows;

/** Begins something else, and goes on once that is over or waits for a lock. */
async function untilItWaits<Result>(work: () => Promise<Result>): Promise<{ readonly end: Promise<Result | Error> }> {
  let isOver = false;
  const end = work()
    .catch((error: unknown) => error as Error)
    .finally(() => {
      isOver = true;
    });
  for (;;) {
    const { rows } = await db.query(
      "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    );
    if (isOver || rows.length > 0) return { end };
  }
}

/** For a process that stops when the treasury has served it. */
const notYet: Partial<WithdrawalSagaParts> = {
  checkpoint: (name) => {
    if (name === 'withdrawal.served') throw new Error('not yet');
  },
};

const complaints = () => log.lines('error').filter(({ msg }) => String(msg).includes('WITHDRAWALS_PER_HOUR'));

describe('what leaves within an hour', () => {
  const perHour = 100_000_000n;

  test('is held beyond the limit, the operator is told once, and his word lets it go', async () => {
    const all = [await newWithdrawal(), await newWithdrawal(), await newWithdrawal(), await newWithdrawal()] as const;
    const [first, second, third, fourth] = all;
    for (const one of all) await advance(one, { perHour });
    expect(await Promise.all(all.map(wasAsked))).toEqual([true, true, false, false]);
    expect(await look(third.id)).toMatchObject({
      status: 'held',
      heldBy: 'hourly_limit',
      heldBecause: 'the hourly limit of 100 USDC is reached',
      error: expect.stringContaining('The service-wide hourly limit'),
    });
    expect(await statusOf(fourth)).toBe('held');
    expect(complaints()).toHaveLength(1);
    expect(await operator('list')).toMatch(new RegExp(`${third.id} .*the hourly limit of 100 USDC is reached`));
    const told = await limitMetrics(db, { ...noBrakes, perHour }).read();
    expect(told['paywright_withdrawals_held']).toContainEqual({ labels: { by: 'hourly_limit' }, value: 2 });
    expect(told).toMatchObject({
      paywright_withdrawals_hour_usdc: 100,
      paywright_withdrawals_hour_limit_usdc: 100,
    });

    await operator('release', third.id);
    expect(await operator('list')).toMatch(new RegExp(`${third.id} +awaiting_liquidity .*Z$`, 'm'));
    await advance(third, { perHour });
    expect(await wasAsked(third)).toBe(true);
    expect(await audited(third)).toEqual([
      { action: 'withdrawal.held', operator: null },
      { action: 'withdrawal.released', operator: 'olga' },
    ]);
    // Its place in the hour is taken as well: nobody else has more room for that.
    expect(await limitMetrics(db, noBrakes).read()).toMatchObject({ paywright_withdrawals_hour_usdc: 150 });

    await operator('refund', fourth.id);
    expect([await statusOf(fourth), await balanceOf(fourth)]).toEqual(['failed', 100_000_000n]);
    expect((await audited(fourth)).at(-1)).toEqual({ action: 'withdrawal.refunded', operator: 'olga' });
    expect(await Promise.all([first, second].map(audited))).toEqual([[], []]);
    // When all of them were decided, it is told anew.
    const late = await newWithdrawal();
    await advance(late, { perHour });
    expect(await statusOf(late)).toBe('held');
    expect(complaints()).toHaveLength(2);
  });

  test('is told of although the process ends just after it has held something', async () => {
    const [first, next] = [await newWithdrawal(), await newWithdrawal()];
    const ending: Database = {
      ...db,
      query: db.query,
      async transaction(work, options) {
        const came = await db.transaction(work, options);
        if ((await statusOf(first)) === 'held') throw new Ended('withdrawal.held');
        return came;
      },
    };
    await expect(advance(first, { db: ending, perHour: 1n })).rejects.toThrow(Ended);
    await advance(next, { perHour: 1n });
    expect(await Promise.all([first, next].map(statusOf))).toEqual(['held', 'held']);
    expect(complaints()).toHaveLength(1);
  });

  test('is told of again when what was held before was left to wait', async () => {
    const [before, today, next] = [await newWithdrawal(), await newWithdrawal(), await newWithdrawal()];
    await advance(before, { perHour: 1n });
    await rewrite("status_since = status_since - interval '61 minutes'", `id = '${before.id}'`);
    for (const one of [today, next]) await advance(one, { perHour: 1n });
    expect(await Promise.all([before, today, next].map(statusOf))).toEqual(['held', 'held', 'held']);
    expect(complaints()).toHaveLength(2);
  });

  test('is added up before others are kept waiting, and then only what came since', async () => {
    const [first, second, third] = [await newWithdrawal(), await newWithdrawal(), await newWithdrawal()];
    await advance(first);
    await rewrite("let_go_at = let_go_at - interval '10 minutes'", `id = '${first.id}'`);
    const addedUpFrom: unknown[] = [];
    const watched: Database = {
      ...db,
      query: db.query,
      transaction: (work, options) =>
        db.transaction((tx) => {
          const query = (text: string, values?: readonly unknown[]) => {
            if (text.includes('let_go_at >')) addedUpFrom.push(values?.[0]);
            return tx.query(text, values);
          };
          return work({ ...tx, query } as Transaction);
        }, options),
    };
    await advance(second, { db: watched, perHour });
    expect(addedUpFrom).toEqual([expect.any(String)]);
    expect(await wasAsked(second)).toBe(true);
    await advance(third, { db: watched, perHour });
    expect(await statusOf(third)).toBe('held');
  });

  test('of two processes at once, one finds room', async () => {
    const [first, second] = [await newWithdrawal(), await newWithdrawal()];
    for (const one of [first, second]) await advance(one, notYet);
    // The other one comes when the first has read what has left, and not written yet that it leaves.
    let other: { readonly end: Promise<unknown> } | undefined;
    const slow = pausedAt(db, 'SET status = $2, let_go_at =', async () => {
      other ??= await untilItWaits(() => advance(second, { perHour: 60_000_000n }));
    });
    await advance(first, { db: slow, perHour: 60_000_000n });
    expect(await other?.end).toBeUndefined();
    expect([await wasAsked(first), await wasAsked(second), await statusOf(second)]).toEqual([true, false, 'held']);
    expect(complaints()).toHaveLength(1);
  });

  test('has room again after an hour, and for what failed at once', async () => {
    const [first, second, third] = [await newWithdrawal(), await newWithdrawal(), await newWithdrawal()];
    await advance(first, { perHour: 50_000_000n });
    await rewrite("let_go_at = let_go_at - interval '61 minutes'", `id = '${first.id}'`);
    await advance(second, { perHour: 50_000_000n });
    expect(await wasAsked(second)).toBe(true);
    const before = await look(second.id);
    await rewrite("status = 'failed', finished_at = now()", `id = '${second.id}'`);
    await advance(third, { perHour: 50_000_000n });
    expect(await wasAsked(third)).toBe(true);
    await rewrite(
      `status = '${before.status}', finished_at = ${before.finishedAt === null ? 'NULL' : 'now()'}`,
      `id = '${second.id}'`,
    );
  });

  test('does not count what the operator pays out, nor holds it', async () => {
    const gross = amountOf('USDC', 1_000n);
    await ledger.post({
      type: 'gift',
      amount: gross,
      entries: [
        { account: houseAccount('custody', 'USDC', 'MATIC'), atomic: -gross.atomic },
        { account: houseAccount('fees', 'USDC', 'MATIC'), atomic: gross.atomic },
      ],
    });
    const fee = amountOf('USDC', 0n);
    const { id, outcome } = await db.transaction((tx) =>
      openWithdrawal(tx, ledger, { accountId: null, chain: 'MATIC', address: stranger(), gross, fee }),
    );
    expect(outcome.outcome).toBe('posted');
    await advance({ id }, { perHour: 1n });
    expect(['sending', 'complete']).toContain((await look(id)).status);
    expect(await limitMetrics(db, noBrakes).read()).toMatchObject({ paywright_withdrawals_hour_usdc: 0 });
  });

  test('what was let go beyond the limit is screened all the same', async () => {
    const one = await newWithdrawal();
    await advance(one, { perHour: 1n });
    expect(await look(one.id)).toMatchObject({ status: 'held', heldBy: 'hourly_limit' });
    await operator('release', one.id);
    await advance(one, { perHour: 1n, screening: suspicious });
    expect(await look(one.id)).toMatchObject({ status: 'held', heldBy: 'screening', heldBecause: 'a hit' });
    expect((await audited(one)).map(({ action }) => action)).toEqual([
      'withdrawal.held',
      'withdrawal.released',
      'account.frozen',
      'withdrawal.held',
    ]);
    expect(await wasAsked(one)).toBe(false);
  });

  test('what it holds can be cancelled', async () => {
    const one = await newWithdrawal();
    await advance(one, { perHour: 1n });
    expect(await statusOf(one)).toBe('held');
    await cancel(one);
    expect([await statusOf(one), await balanceOf(one)]).toEqual(['cancelled', 100_000_000n]);
    await expect(operator('release', one.id)).rejects.toThrow('is not held');
    await expect(operator('refund', one.id)).rejects.toThrow('is not held');
  });
});

test('the operator is shown everything that is held, however much that is', async () => {
  await db.query(
    `INSERT INTO withdrawals (id, chain, asset, address, gross, fee, net, status)
     SELECT 'wdr_many_' || i, 'MATIC', 'USDC', $1, 1, 0, 1, 'held' FROM generate_series(1000, 2001) i`,
    [stranger()],
  );
  const { id } = await newWithdrawal();
  const listed = (await operator('list')).split('\n');
  expect(listed.filter((line) => line.includes('wdr_many_'))).toHaveLength(1_002);
  expect(listed.at(-1)).toContain(id);
  // Nobody's money is in them.
  await db.query("DELETE FROM withdrawals WHERE id LIKE 'wdr_many%'");
});

test('what may have been paid since a backup is not refunded before that is decided', async () => {
  const one = await newWithdrawal();
  await advance(one, { perHour: 1n });
  await db.query("INSERT INTO unknown_transactions (chain, sender, nonce) VALUES ('MATIC', $1, 7)", [stranger()]);
  await expect(operator('refund', one.id)).rejects.toThrow('paywright treasury unknown');
  expect([await statusOf(one), await balanceOf(one)]).toEqual(['held', 50_000_000n]);
  await db.query("UPDATE unknown_transactions SET decision = 'unrelated', decided_at = now()");
  await operator('refund', one.id);
  expect([await statusOf(one), await balanceOf(one)]).toEqual(['failed', 100_000_000n]);
});

describe('a cancellation', () => {
  const notCancellable = { code: 'withdrawal_not_cancellable' };

  test.each([
    ['waits for more than there is', 'waiting', 5_000_000_000n],
    ['was just served', 'ready', 50_000_000n],
  ])('of what %s takes it out of the line', async (_name, state, gross) => {
    const one = await newWithdrawal(gross);
    await advance(one, notYet);
    expect(await statusOf(one)).toBe('awaiting_liquidity');
    const { rows: planned } = await db.query('SELECT state FROM chain_steps WHERE saga_id = $1', [one.id]);
    expect(planned).toEqual([{ state }]);
    await cancel(one);
    const { rows } = await db.query(
      'SELECT FROM chain_steps s LEFT JOIN chain_step_leaves l ON l.step_id = s.id WHERE saga_id = $1',
      [one.id],
    );
    expect(rows).toEqual([]);
    await advance(one);
    expect([await statusOf(one), await balanceOf(one), await one.paid()]).toEqual(['cancelled', 2n * gross, 0n]);
  });

  test('that comes when it is about to be sent waits for that, and is too late', async () => {
    const one = await newWithdrawal();
    let late: { readonly end: Promise<unknown> } | undefined;
    const slow = pausedAt(db, 'SET status = $2, let_go_at =', async () => {
      late ??= await untilItWaits(() => cancel(one));
    });
    await advance(one, { db: slow });
    expect(await late?.end).toMatchObject(notCancellable);
    expect(await balanceOf(one)).toBe(50_000_000n);
    expect(await wasAsked(one)).toBe(true);
  });

  test('that comes just before keeps it from being sent', async () => {
    const one = await newWithdrawal();
    let sending: { readonly end: Promise<unknown> } | undefined;
    const slow = pausedAt(db, "SET status = 'cancelled'", async () => {
      sending ??= await untilItWaits(() => advance(one));
    });
    await cancel(one, slow);
    expect(await sending?.end).toBeUndefined();
    await advance(one);
    expect([await statusOf(one), await balanceOf(one), await wasAsked(one)]).toEqual([
      'cancelled',
      100_000_000n,
      false,
    ]);
  });

  test('while the screening thinks is not undone by what it finds', async () => {
    const one = await newWithdrawal();
    const screening: WithdrawalSagaParts['screening'] = {
      async check() {
        await cancel(one);
        return { clear: false, reason: 'a hit' };
      },
    };
    await advance(one, { screening });
    expect([await statusOf(one), await balanceOf(one)]).toEqual(['cancelled', 100_000_000n]);
    const { rows } = await db.query('SELECT frozen_at FROM accounts WHERE id = $1', [one.owner]);
    expect(rows).toEqual([{ frozenAt: null }]);
    expect(log.lines('error').map(({ msg }) => msg)).toEqual([
      expect.stringContaining('already finished or being sent'),
    ]);
  });

  test('that comes while it is being held waits for that, and is refused', async () => {
    const one = await newWithdrawal();
    let late: { readonly end: Promise<unknown> } | undefined;
    const slow = pausedAt(db, 'lock_owner', async () => {
      late ??= await untilItWaits(() => cancel(one));
    });
    await holdWithdrawal(slow, await look(one.id), { reason: 'a hit', freeze: true });
    expect(await late?.end).toMatchObject(notCancellable);
    expect([await statusOf(one), await balanceOf(one)]).toEqual(['held', 50_000_000n]);
  });

  test('of two at once one gives the money back', async () => {
    const one = await newWithdrawal();
    let second: { readonly end: Promise<unknown> } | undefined;
    const slow = pausedAt(db, "SET status = 'cancelled'", async () => {
      second ??= await untilItWaits(() => cancel(one));
    });
    await cancel(one, slow);
    expect(await second?.end).toMatchObject({ status: 'cancelled' });
    expect(await balanceOf(one)).toBe(100_000_000n);
  });
});
