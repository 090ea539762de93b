import { Command } from 'commander';
import { parseEther, toHex } from 'viem';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addAccountCommands } from '../../../src/accounts/commands.ts';
import { createKeysProvider } from '../../../src/custody/adapters/keys/keys-provider.ts';
import { houseWallet, openHouseWallets } from '../../../src/custody/wallets/house-wallets.ts';
import type { WalletProvider } from '../../../src/custody/wallets/provider.ts';
import type { Database } from '../../../src/kernel/db/database.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { createSagaRunner } from '../../../src/kernel/sagas/run-saga.ts';
import { createSecrets } from '../../../src/kernel/secrets/secrets.ts';
import { createLedger, type Ledger } from '../../../src/ledger/ledger.ts';
import { amountOf } from '../../../src/money/amount.ts';
import { withdrawalHandler } from '../../../src/payments/withdrawals/advance-withdrawal.ts';
import { addWithdrawalCommands } from '../../../src/payments/withdrawals/commands.ts';
import { holdWithdrawal } from '../../../src/payments/withdrawals/hold-withdrawal.ts';
import { openWithdrawal } from '../../../src/payments/withdrawals/open-withdrawal.ts';
import { findWithdrawal } from '../../../src/payments/withdrawals/withdrawal.ts';
import { stranger } from '../../contract/workbench.ts';
import { useChains } from '../../support/chains.ts';
import { useDatabase } from '../../support/database.ts';
import { createOwners, fund } from '../../support/ledger.ts';
import { pausedAt } from '../../support/paused-database.ts';

const database = useDatabase();
const { db } = database;
const chains = useChains(database);
const logger = createLogger('silent');
let ledger: Ledger;
let provider: WalletProvider;

beforeAll(async () => {
  provider = await createKeysProvider({
    db,
    secrets: createSecrets('s'.repeat(32)),
    networks: chains.networks,
    logger,
  });
  await openHouseWallets(db, provider, chains.networks);
  ledger = createLedger({ db, logger });
  const { address } = await houseWallet(db, 'treasury', 'MATIC');
  await chains.rpc('MATIC', 'hardhat_setBalance', [address, toHex(parseEther('10'))]);
  await chains.mint('MATIC', 'USDC', address, 1_000_000_000n);
  await db.query("INSERT INTO chain_cursors (chain, block_number, block_hash) VALUES ('MATIC', 1000000000, '0x00')");
});
afterAll(() => ledger?.stop());

async function newWithdrawal() {
  const [owner] = await createOwners(db, 1);
  if (owner === undefined) throw new Error('nobody');
  await fund(ledger, [owner], 100_000_000n);
  const { rows } = await db.query<{ handle: string }>('SELECT handle FROM accounts WHERE id = $1', [owner.id]);
  const to = stranger();
  const { id } = await db.transaction((tx) =>
    openWithdrawal(tx, ledger, {
      accountId: owner.id,
      chain: 'MATIC',
      address: to,
      gross: amountOf('USDC', 50_000_000n),
      fee: amountOf('USDC', 1_000_000n),
    }),
  );
  return { id, handle: rows[0]?.handle ?? '', paid: () => chains.balanceOf('MATIC', 'USDC', to) };
}

async function statusOf(id: string): Promise<string | undefined> {
  return (await findWithdrawal(db, id))?.status;
}

/** Whether the provider was, or may have been, asked to pay. */
async function wasAsked(id: string): Promise<boolean> {
  const { rows } = await db.query('SELECT FROM chain_steps WHERE saga_id = $1 AND asked_at IS NOT NULL', [id]);
  return rows.length > 0;
}

/** Takes it as far as it goes, on connections whose statements may be held up. */
function advance(id: string, on: Database = db): Promise<void> {
  const screening = { check: async () => ({ clear: true }) as const };
  const handler = withdrawalHandler({ db: on, ledger, networks: chains.networks, provider, screening, logger });
  return createSagaRunner({ db: on, logger, handlers: [handler] }).advance({ saga: 'withdrawal', id });
}

async function operator(words: readonly string[], on: Database = db): Promise<void> {
  const program = new Command().exitOverride();
  addAccountCommands(program, { withDatabase: (work) => work(on), say: () => {}, operator: 'olga' });
  addWithdrawalCommands(program, { withMoney: (work) => work({ db: on, ledger }), say: () => {}, operator: 'olga' });
  await program.parseAsync([...words], { from: 'user' });
}

/** Begins the freeze, and goes on once it is over or waits for somebody's lock. */
async function beginFreeze(handle: string): Promise<{ readonly answered: Promise<void> }> {
  const answered = operator(['account', 'freeze', handle]);
  let isOver = false;
  void answered.finally(() => {
    isOver = true;
  });
  for (;;) {
    const { rows } = await db.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
          AND query LIKE '%lock_owner%'`,
    );
    if (isOver || rows.length > 0) return { answered };
  }
}

test.each([
  ['it is about to be sent', 'SET status = $2, let_go_at ='],
  ['the provider is about to be asked', "SET state = 'asked'"],
])('a freeze that comes when %s waits for it, or stops it', async (_when, words) => {
  const { id, handle, paid } = await newWithdrawal();
  let asked: Promise<boolean> | undefined;
  const slow = pausedAt(db, words, async () => {
    if (asked !== undefined) return;
    const { answered } = await beginFreeze(handle);
    // Whether it had begun at the moment when the operator was told that the account is frozen.
    asked = answered.then(() => wasAsked(id));
  });
  await advance(id, slow);
  expect(asked).toBeDefined();
  const begunBefore = await asked;
  await advance(id);
  await advance(id);
  expect(await paid()).toBe(begunBefore ? 49_000_000n : 0n);
  expect(await statusOf(id)).toBe(begunBefore ? 'complete' : 'held');
  if (begunBefore) return;
  await operator(['account', 'unfreeze', handle]);
  await operator(['withdrawals', 'release', id]);
  for (let round = 0; round < 3; round++) await advance(id);
  expect(await paid()).toBe(49_000_000n);
});

test('what was released is held again by a freeze that was answered after it', async () => {
  const { id, handle, paid } = await newWithdrawal();
  const withdrawal = await findWithdrawal(db, id);
  if (withdrawal === undefined) throw new Error('none');
  await holdWithdrawal(db, withdrawal, { reason: 'a hit', freeze: false });
  await operator(['withdrawals', 'release', id]);
  await operator(['account', 'freeze', handle]);
  for (let round = 0; round < 3; round++) await advance(id);
  expect(await statusOf(id)).toBe('held');
  expect(await paid()).toBe(0n);
});

test('a release and a freeze at the same time: the freeze is answered after the release, or the release is refused', async () => {
  const { id, handle, paid } = await newWithdrawal();
  const withdrawal = await findWithdrawal(db, id);
  if (withdrawal === undefined) throw new Error('none');
  await holdWithdrawal(db, withdrawal, { reason: 'a hit', freeze: false });
  let statusWhenAnswered: Promise<string | undefined> | undefined;
  // It has read that the account is not frozen, and is about to wake the saga and commit.
  const slow = pausedAt(db, 'add_job', async () => {
    const { answered } = await beginFreeze(handle);
    statusWhenAnswered = answered.then(() => statusOf(id));
  });
  await operator(['withdrawals', 'release', id], slow);
  expect(await statusWhenAnswered).toBe('awaiting_liquidity');
  await advance(id);
  expect(await statusOf(id)).toBe('held');
  await expect(operator(['withdrawals', 'release', id])).rejects.toThrow('frozen');
  expect(await paid()).toBe(0n);
});

test('what waits for gas when its account is frozen is not sent when there is gas again, but when the account is let go', async () => {
  const { id, handle, paid } = await newWithdrawal();
  const { address } = await houseWallet(db, 'treasury', 'MATIC');
  const fillTank = (atomic: bigint) => chains.rpc('MATIC', 'hardhat_setBalance', [address, toHex(atomic)]);
  await fillTank(1n);
  await advance(id).catch(() => undefined);
  expect(await wasAsked(id)).toBe(true);
  await operator(['account', 'freeze', handle]);
  await fillTank(parseEther('10'));
  for (let round = 0; round < 3; round++) await advance(id);
  expect([await statusOf(id), await paid()]).toEqual(['sending', 0n]);
  await operator(['account', 'unfreeze', handle]);
  for (let round = 0; round < 3; round++) await advance(id);
  expect([await statusOf(id), await paid()]).toEqual(['complete', 49_000_000n]);
});

test('what was signed when its account is frozen is followed to its end', async () => {
  const { id, handle, paid } = await newWithdrawal();
  // It ends before it has written down how the provider knows it.
  const ends: Database = {
    ...db,
    transaction: db.transaction,
    query: (text, values) =>
      text.includes('SET provider_ref = $2') ? Promise.reject(new Error('the process ends')) : db.query(text, values),
  };
  await advance(id, ends).catch(() => undefined);
  await operator(['account', 'freeze', handle]);
  for (let round = 0; round < 3; round++) await advance(id);
  expect([await statusOf(id), await paid()]).toEqual(['complete', 49_000_000n]);
});
