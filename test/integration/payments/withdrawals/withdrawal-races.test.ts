import { parseEther, toHex } from 'viem';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { houseWallet, openHouseWallets } from '../../../../src/custody/wallets/house-wallets.ts';
import type { Database } from '../../../../src/kernel/db/database.ts';
import { createLogger } from '../../../../src/kernel/log/logger.ts';
import { createSagaRunner } from '../../../../src/kernel/sagas/run-saga.ts';
import { spendableBalances } from '../../../../src/ledger/balances.ts';
import { createLedger, type Ledger } from '../../../../src/ledger/ledger.ts';
import { amountOf } from '../../../../src/money/amount.ts';
import { withdrawalHandler } from '../../../../src/payments/withdrawals/advance-withdrawal.ts';
import { openWithdrawal } from '../../../../src/payments/withdrawals/open-withdrawal.ts';
import { stranger } from '../../../contract/workbench.ts';
import { useCircle } from '../../../emulators/circle/connect.ts';
import { useChains } from '../../../support/chains.ts';
import { useDatabase } from '../../../support/database.ts';
import { createOwners, fund } from '../../../support/ledger.ts';

const database = useDatabase();
const chains = useChains(database);
const circle = useCircle(database, { networks: () => chains.networks });
const logger = createLogger('silent');
const onTransfers = ({ path }: { path: string }) => path.endsWith('/transfer');
let ledger: Ledger;

beforeAll(async () => {
  const { db } = database;
  await openHouseWallets(db, circle.provider, chains.networks);
  ledger = createLedger({ db, logger });
  const { address } = await houseWallet(db, 'treasury', 'MATIC');
  await chains.rpc('MATIC', 'hardhat_setBalance', [address, toHex(parseEther('10'))]);
  await chains.mint('MATIC', 'USDC', address, 1_000_000_000n);
  await db.query("INSERT INTO chain_cursors (chain, block_number, block_hash) VALUES ('MATIC', 1000000000, '0x00')");
});
afterAll(() => ledger?.stop());

/** A process, whose statements or transactions can be held up. */
function processOn(db: Database) {
  const screening = { check: async () => ({ clear: true }) as const };
  return createSagaRunner({
    db,
    logger,
    handlers: [
      withdrawalHandler({ db, ledger, networks: chains.networks, provider: circle.provider, screening, logger }),
    ],
  });
}

/** Does something just before the commit that writes down that the provider is asked for the first time. */
function beforeMark(db: Database, id: string, work: () => Promise<void>): Database {
  return {
    ...db,
    query: db.query,
    transaction: async (inside, options) => {
      const { rows } = await db.query(
        `SELECT FROM withdrawals w JOIN chain_steps s ON s.saga_id = w.id
          WHERE w.id = $1 AND w.status = 'sending' AND s.state = 'ready'`,
        [id],
      );
      if (rows.length > 0) await work();
      return db.transaction(inside, options);
    },
  };
}

function gate() {
  let open = () => {};
  let reach = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  const pass = () => {
    reach();
    return opened;
  };
  return { open: () => open(), reached, pass };
}

async function newWithdrawal() {
  const { db } = database;
  const [owner] = await createOwners(db, 1);
  if (owner === undefined) throw new Error('nobody');
  await fund(ledger, [owner], 100_000_000n);
  const to = stranger();
  const id = await db.transaction(async (tx) => {
    const opened = await openWithdrawal(tx, ledger, {
      accountId: owner.id,
      chain: 'MATIC',
      address: to,
      gross: amountOf('USDC', 50_000_000n),
      fee: amountOf('USDC', 1_000_000n),
    });
    return opened.id;
  });
  const look = async () => {
    const { rows } = await db.query<{ status: string }>('SELECT status FROM withdrawals WHERE id = $1', [id]);
    return {
      status: rows[0]?.status,
      balance: (await spendableBalances(db, owner.id, 'MATIC')).USDC.atomic,
      paid: await chains.balanceOf('MATIC', 'USDC', to),
    };
  };
  return { id, look };
}

test('both see a step that was never asked; the answer of the first is lost and the second is refused', async () => {
  const { db } = database;
  const { id, look } = await newWithdrawal();
  const held = gate();
  const slow = beforeMark(db, id, () => held.pass());
  const second = processOn(slow).advance({ saga: 'withdrawal', id });
  // It has read that it was never asked.
  await held.reached;
  circle.emulator.faults.next({ trouble: { how: 'lose-answer' }, times: 4, on: onTransfers });
  await processOn(db).advance({ saga: 'withdrawal', id });
  circle.emulator.repeats.refuseWith = { status: 400, code: 155201 };
  held.open();
  await second;
  delete circle.emulator.repeats.refuseWith;
  await expect.poll(async () => (await look()).paid).toBe(49_000_000n);
  expect((await look()).balance).toBe(50_000_000n);
  expect((await look()).status).not.toBe('failed');
});

test('the first is refused and pauses before its commit, the second is taken', async () => {
  const { db } = database;
  const { id, look } = await newWithdrawal();
  const held = gate();
  let asked = false;
  const marking = beforeMark(db, id, async () => {
    asked = true;
  });
  const slow: Database = {
    ...marking,
    query: marking.query,
    transaction: async (work, options) => {
      if (asked) await held.pass();
      return marking.transaction(work, options);
    },
  };
  circle.emulator.faults.next({ trouble: { how: 'refuse', status: 400, code: 155201 }, on: onTransfers });
  const first = processOn(slow).advance({ saga: 'withdrawal', id });
  // It was refused and is about to give the money back.
  await held.reached;
  await processOn(db).advance({ saga: 'withdrawal', id });
  await expect.poll(async () => (await look()).paid).toBe(49_000_000n);
  held.open();
  await first;
  expect((await look()).balance).toBe(50_000_000n);
  expect((await look()).status).not.toBe('failed');
});

test('a hash that Circle tells beside a contradiction is written down, so that the reserves can follow it', async () => {
  const { db } = database;
  const { id, look } = await newWithdrawal();
  circle.emulator.transactions.paused = true;
  await processOn(db).advance({ saga: 'withdrawal', id });
  circle.emulator.transactions.paused = false;
  await expect.poll(async () => (await look()).paid).toBe(49_000_000n);
  const { rows: refs } = await db.query<{ providerRef: string }>(
    'SELECT provider_ref FROM chain_steps WHERE saga_id = $1',
    [id],
  );
  const transaction = circle.emulator.transactions.all.get(refs[0]?.providerRef ?? '');
  if (transaction === undefined) throw new Error('none');
  await expect.poll(() => transaction.state).toBe('COMPLETE');
  transaction.state = 'FAILED';
  await processOn(db).advance({ saga: 'withdrawal', id });
  const { rows } = await db.query<{ hash: string | null }>('SELECT hash FROM chain_steps WHERE saga_id = $1', [id]);
  expect(rows[0]?.hash).toMatch(/^0x/);
});

test('whoever was held and let go while somebody was about to send it can still be sent', async () => {
  const { db } = database;
  const { id, look } = await newWithdrawal();
  const held = gate();
  const slow: Database = {
    ...db,
    query: db.query,
    transaction: async (work, options) => {
      const { rows } = await db.query('SELECT FROM chain_steps WHERE saga_id = $1 AND state = $2', [id, 'ready']);
      if (rows.length > 0) await held.pass();
      return db.transaction(work, options);
    },
  };
  const first = processOn(slow).advance({ saga: 'withdrawal', id });
  await held.reached; // its step is ready
  const { holdWithdrawal } = await import('../../../../src/payments/withdrawals/hold-withdrawal.ts');
  const { findWithdrawal } = await import('../../../../src/payments/withdrawals/withdrawal.ts');
  const withdrawal = await findWithdrawal(db, id);
  if (withdrawal === undefined) throw new Error('none');
  await holdWithdrawal(db, withdrawal, { reason: 'a hit', freeze: false });
  await db.query("UPDATE withdrawals SET status = 'awaiting_liquidity', released_at = now() WHERE id = $1", [id]);
  held.open();
  await first;
  for (let i = 0; i < 3; i++) await processOn(db).advance({ saga: 'withdrawal', id });
  await expect.poll(async () => (await look()).paid).toBe(49_000_000n);
});
