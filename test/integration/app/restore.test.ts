import { Writable } from 'node:stream';
import { Command } from 'commander';
import { type Hex, parseEther, toHex } from 'viem';
import { describe, expect, test } from 'vitest';
import { createKeysProvider, type KeysProvider } from '../../../src/custody/adapters/keys/keys-provider.ts';
import { addTreasuryCommands } from '../../../src/custody/treasury/commands.ts';
import { showUnknown } from '../../../src/custody/treasury/unknown-transactions.ts';
import { houseWallet, openHouseWallets } from '../../../src/custody/wallets/house-wallets.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { declareSagas } from '../../../src/kernel/sagas/define-saga.ts';
import { listOpenSagas } from '../../../src/kernel/sagas/list-sagas.ts';
import { createSagaRunner } from '../../../src/kernel/sagas/run-saga.ts';
import { createSecrets } from '../../../src/kernel/secrets/secrets.ts';
import { createLedger, type Ledger } from '../../../src/ledger/ledger.ts';
import { amountOf } from '../../../src/money/amount.ts';
import { withdrawalHandler } from '../../../src/payments/withdrawals/advance-withdrawal.ts';
import { openWithdrawal } from '../../../src/payments/withdrawals/open-withdrawal.ts';
import { withdrawalSaga } from '../../../src/payments/withdrawals/saga.ts';
import { findWithdrawal } from '../../../src/payments/withdrawals/withdrawal.ts';
import { stranger } from '../../contract/workbench.ts';
import { useChains } from '../../support/chains.ts';
import { copyDatabase, type OwnDatabase, open } from '../../support/copied-database.ts';
import { useDatabase } from '../../support/database.ts';
import { createOwners, fund } from '../../support/ledger.ts';

// The chains are in a database of their own: they go on while the service's is put back.
const chains = useChains(useDatabase());
const secrets = createSecrets('s'.repeat(32));
let logged = '';
const logger = createLogger(
  'error',
  new Writable({
    write(chunk, _encoding, done) {
      logged += chunk;
      done();
    },
  }),
);

interface Life {
  readonly provider: KeysProvider;
  readonly ledger: Ledger;
  readonly treasury: Hex;
  withdraw(to: Hex, gross?: bigint): Promise<string>;
  /** Takes it as far as it goes, and answers what has become of it. */
  advance(id: string): Promise<string | undefined>;
  waitsFor(id: string): Promise<string | undefined>;
  steps(id: string): Promise<{ id: string; hash: Hex | null }[]>;
  operator(...words: string[]): Promise<string[]>;
  end(): Promise<void>;
}

/** The service's hands on one database, until they are ended. */
async function live(database: OwnDatabase, stuckAfterMs = 60_000): Promise<Life> {
  const db = open(database);
  const networks = new Map([['MATIC', chains.network('MATIC')] as const]);
  const provider = await createKeysProvider({ db, secrets, networks, logger, stuckAfterMs });
  await openHouseWallets(db, provider, networks);
  await declareSagas(db, [withdrawalSaga]);
  const ledger = createLedger({ db, logger });
  const { address } = await houseWallet(db, 'treasury', 'MATIC');
  const screening = { check: async () => ({ clear: true }) as const };
  const handler = withdrawalHandler({ db, ledger, networks, provider, screening, logger });
  const runner = createSagaRunner({ db, logger, handlers: [handler] });
  return {
    provider,
    ledger,
    treasury: address,
    async withdraw(to, gross = 50_000_000n) {
      const [owner] = await createOwners(db, 1);
      if (owner === undefined) throw new Error('nobody');
      await fund(ledger, [owner], gross);
      const { id } = await db.transaction((tx) =>
        openWithdrawal(tx, ledger, {
          accountId: owner.id,
          chain: 'MATIC',
          address: to,
          gross: amountOf('USDC', gross),
          fee: amountOf('USDC', 1_000_000n),
        }),
      );
      return id;
    },
    async advance(id) {
      for (let round = 0; round < 3; round++) await runner.advance({ saga: 'withdrawal', id });
      return (await findWithdrawal(db, id))?.status;
    },
    async waitsFor(id) {
      return (await listOpenSagas(db, [withdrawalSaga], { id }))[0]?.waitsFor;
    },
    async steps(id) {
      const { rows } = await db.query<{ id: string; hash: Hex | null }>(
        'SELECT id, hash FROM chain_steps WHERE saga_id = $1',
        [id],
      );
      return rows;
    },
    async operator(...words) {
      const said: string[] = [];
      const program = new Command().exitOverride();
      const parts = {
        db,
        ledger,
        networks,
        provider,
        seedRotation: provider.seedRotation,
        unknownTransactions: provider.unknown,
      };
      addTreasuryCommands(
        program,
        (work) => work(parts),
        (line) => said.push(line),
      );
      await program.parseAsync(['treasury', ...words], { from: 'user' });
      return said;
    },
    async end() {
      await ledger.stop();
      await db.close();
    },
  };
}

async function fill(treasury: Hex): Promise<void> {
  await chains.rpc('MATIC', 'hardhat_setBalance', [treasury, toHex(parseEther('10'))]);
  await chains.mint('MATIC', 'USDC', treasury, 1_000_000_000n);
}

/** A treasury with money, and a chain that counts as read. */
async function begin() {
  const database = await copyDatabase();
  const life = await live(database);
  await fill(life.treasury);
  const db = open(database);
  await db.query("INSERT INTO chain_cursors (chain, block_number, block_hash) VALUES ('MATIC', 1000000000, '0x00')");
  await db.close();
  return { database, life };
}

/** Ends one life, and answers with the database as it is now and as somebody may put it back later. */
async function backUp(database: OwnDatabase, life: Life): Promise<OwnDatabase> {
  await life.end();
  return copyDatabase(database.name);
}

const paidTo = (address: Hex) => chains.balanceOf('MATIC', 'USDC', address);

/** Most of what the treasury has was paid after the backup, which does not know of it. */
async function paidSinceBackup() {
  const { database, life } = await begin();
  const to = stranger();
  const id = await life.withdraw(to, 900_000_000n);
  const backup = await backUp(database, life);
  const gone = await live(database);
  expect(await gone.advance(id)).toBe('complete');
  await gone.end();
  return { id, to, backup, restored: await live(backup) };
}

describe('after a restore from a backup', () => {
  test('what was paid since is not paid again: it waits for a person, and the next payment goes through', async () => {
    const { database, life } = await begin();
    const before = stranger();
    expect(await life.advance(await life.withdraw(before))).toBe('complete');
    const to = stranger();
    const id = await life.withdraw(to);
    const backup = await backUp(database, life);

    const gone = await live(database);
    expect(await gone.advance(id)).toBe('complete');
    const [paid] = await gone.steps(id);
    // And one that nobody will remember.
    const forgotten = stranger();
    expect(await gone.advance(await gone.withdraw(forgotten))).toBe('complete');
    await gone.end();

    const restored = await live(backup);
    expect(await restored.advance(id)).toBe('sending');
    expect(await restored.waitsFor(id)).toContain(`transaction ${paid?.hash} is not in this database`);
    expect(logged).toContain('must come from a backup');
    expect(await paidTo(to)).toBe(49_000_000n);
    // The same step under the same key, although it was planned only after the backup.
    expect((await restored.steps(id)).map((step) => step.id)).toEqual([paid?.id]);

    const next = stranger();
    expect(await restored.advance(await restored.withdraw(next))).toBe('complete');
    expect(await paidTo(next)).toBe(49_000_000n);

    const [first = '', holds, second = ''] = await restored.operator('unknown');
    expect(first).toMatch(new RegExp(`nonce 1: 49 USDC to ${to}   ${paid?.hash}$`));
    expect(holds).toBe(`    holds withdrawal ${id}: pay`);
    expect(second).toContain(`nonce 2: 49 USDC to ${forgotten}`);
    const number = (line: string) => line.split(' ')[0] ?? '';
    await expect(restored.operator('explain', number(second), '--paid', id)).rejects.toThrow('does not wait for');
    await expect(restored.operator('explain', number(first))).rejects.toThrow('either --paid');
    expect(await restored.operator('explain', number(first), '--paid', id)).toEqual([
      `${id} was paid by ${paid?.hash}.`,
    ]);
    expect(await restored.advance(id)).toBe('complete');
    expect(await restored.steps(id)).toEqual([{ id: paid?.id, hash: paid?.hash }]);
    expect(await paidTo(to)).toBe(49_000_000n);
    await restored.operator('explain', number(second), '--unrelated');
    expect(await restored.operator('unknown')).toEqual(['This database knows every transaction of the house wallets.']);
    await restored.end();
  });

  test('nothing is paid again from new wallets that the old ones may have paid', async () => {
    const { database, life } = await begin();
    const to = stranger();
    const id = await life.withdraw(to);
    const backup = await backUp(database, life);
    const gone = await live(database);
    expect(await gone.advance(id)).toBe('complete');
    await gone.end();

    const restored = await live(backup);
    const db = open(backup);
    const treasury = async () => (await houseWallet(db, 'treasury', 'MATIC')).address;
    // Nobody has looked yet what the wallets have sent.
    await restored.operator('rotate-seed');
    const said = await restored.operator('rotate-seed', '--backed-up', '2');
    // As the service does with what the old ones hold.
    await fill(await treasury());
    expect(await restored.advance(id)).toBe('sending');
    expect(await paidTo(to)).toBe(49_000_000n);
    expect(said).toContainEqual(expect.stringMatching(new RegExp(`^MATIC treasury ${restored.treasury} stays`)));
    expect(await treasury()).toBe(restored.treasury);
    const [line = ''] = await restored.operator('unknown');
    await restored.operator('explain', line.split(' ')[0] ?? '', '--paid', id);
    expect(await restored.advance(id)).toBe('complete');
    expect(await paidTo(to)).toBe(49_000_000n);
    expect(await restored.operator('rotate-seed')).not.toContainEqual(expect.stringContaining('stays'));
    expect(await treasury()).not.toBe(restored.treasury);
    await db.close();
    await restored.end();
  });

  test('a new seed gives no wallet before its backup is confirmed, and that backup leads to the same wallets again', async () => {
    const { database, life } = await begin();
    const db = open(database);
    const treasuryIn = async (from: typeof db) => (await houseWallet(from, 'treasury', 'MATIC')).address;
    const needsBackup = [
      'Seed 2 is created. No wallet uses it yet, and nothing was moved.',
      expect.stringMatching(/^Back up the database now: .* would lose everything/),
      'Then run "paywright treasury rotate-seed --backed-up 2".',
    ];
    await expect(life.operator('rotate-seed', '--backed-up', '2')).rejects.toThrow('No seed 2 is waiting');
    expect(await life.operator('rotate-seed')).toEqual(needsBackup);
    // Asked again there is still one, and whoever registers now gets a wallet of the seed that every backup holds.
    expect(await life.operator('rotate-seed')).toEqual(needsBackup);
    await expect(life.operator('rotate-seed', '--backed-up', '1')).rejects.toThrow('No seed 1 is waiting');
    await expect(life.operator('rotate-seed', '--backed-up', 'yes')).rejects.toThrow('must be the number of the seed');
    expect((await life.provider.createWallet({ chain: 'MATIC' })).ref).toMatch(/^1\//);
    expect(await treasuryIn(db)).toBe(life.treasury);
    await db.close();
    const backup = await backUp(database, life);

    const gone = await live(database);
    expect(await gone.operator('rotate-seed', '--backed-up', '2')).toContainEqual(
      expect.stringContaining('Seed 2 is in use'),
    );
    expect((await gone.provider.createWallet({ chain: 'MATIC' })).ref).toMatch(/^2\//);
    const inUse = open(database);
    const moved = await treasuryIn(inUse);
    expect(moved).not.toBe(gone.treasury);
    await inUse.close();
    await gone.end();

    const restored = await live(backup);
    await restored.operator('rotate-seed', '--backed-up', '2');
    const again = open(backup);
    expect(await treasuryIn(again)).toBe(moved);
    await again.close();
    await restored.end();
  });

  test('nobody is told that everything is known while a chain was not asked', async () => {
    const { database, life } = await begin();
    const db = open(database);
    const show = async (change: Partial<Parameters<typeof showUnknown>[0]> = {}) => {
      const said: string[] = [];
      const networks = new Map([['MATIC', chains.network('MATIC')] as const]);
      const parts = { db, networks, unknownTransactions: life.provider.unknown, ...change };
      await showUnknown(parts, (line) => void said.push(line));
      return said;
    };
    const everything = 'This database knows every transaction of the house wallets.';
    expect(await show()).toEqual([everything]);
    const look = () => Promise.reject(new Error('it does not answer'));
    const silent = await show({ unknownTransactions: { ...life.provider.unknown, look } });
    expect(silent).toContainEqual(expect.stringMatching(/^MATIC 0x.*it does not answer/));
    expect(silent).not.toContain(everything);
    expect(await show({ networks: new Map() })).not.toContain(everything);
    await db.close();
    await life.end();
  });

  test('a payment that only looks like it is made once a person says so', async () => {
    const { database, life } = await begin();
    const backup = await backUp(database, life);
    const gone = await live(database);
    const to = stranger();
    expect(await gone.advance(await gone.withdraw(to))).toBe('complete');
    await gone.end();

    // Of this wallet the backup knows no transaction at all.
    const restored = await live(backup);
    const again = await restored.withdraw(to);
    expect(await restored.advance(again)).toBe('sending');
    expect(await paidTo(to)).toBe(49_000_000n);
    // Another amount to the same address is no such payment.
    expect(await restored.advance(await restored.withdraw(to, 21_000_000n))).toBe('complete');
    const [line = ''] = await restored.operator('unknown');
    await restored.operator('explain', line.split(' ')[0] ?? '', '--unrelated');
    expect(await restored.advance(again)).toBe('complete');
    expect(await paidTo(to)).toBe(49_000_000n + 20_000_000n + 49_000_000n);
    await restored.end();
  });

  test('what was refused for want of money is not given back, for it may have been paid with just that', async () => {
    const { backup, to, restored } = await paidSinceBackup();
    // The treasury has not enough left, so that the payment waits for its turn; somebody puts it in the wallet's hands.
    const { provider, treasury } = restored;
    const db = open(backup);
    const wallet = await houseWallet(db, 'treasury', 'MATIC');
    await db.close();
    const token = chains.network('MATIC').tokens.find(({ asset }) => asset === 'USDC')?.address ?? '0x';
    const send = { from: wallet, token, to, atomic: 899_000_000n, idempotencyKey: crypto.randomUUID() };
    await expect(provider.sendToken(send)).rejects.toMatchObject({ code: 'perhaps_paid', retryable: true });
    expect(await chains.balanceOf('MATIC', 'USDC', treasury)).toBe(101_000_000n);
    await restored.end();
  });

  test('what waits for tokens is named below the transaction that may have paid it, and ends as paid', async () => {
    const { id, to, restored } = await paidSinceBackup();
    // The treasury has not enough left, so that nobody comes to sign it.
    expect(await restored.advance(id)).toBe('awaiting_liquidity');
    expect(await restored.operator('unknown')).toEqual([
      expect.stringContaining(`899 USDC to ${to}`),
      `    may have paid withdrawal ${id}, which is awaiting_liquidity and can be cancelled by its owner once you choose --unrelated`,
    ]);
    const [line = ''] = await restored.operator('unknown');
    const number = line.split(' ')[0] ?? '';
    await expect(restored.operator('explain', number, '--paid', 'wdr_other')).rejects.toThrow('does not wait for');
    await restored.operator('explain', number, '--paid', id);
    expect(await restored.advance(id)).toBe('complete');
    expect(await paidTo(to)).toBe(899_000_000n);
    await restored.end();
  });

  test('a transaction that is in the backup keeps its bytes, and a replacement that is not is recognised', async () => {
    const { database, life } = await begin();
    const to = stranger();
    const [mined, replaced] = [await life.withdraw(to), await life.withdraw(to, 31_000_000n)];
    await chains.rpc('MATIC', 'evm_setAutomine', [false]);
    for (const id of [mined, replaced]) expect(await life.advance(id)).toBe('sending');
    const backup = await backUp(database, life);
    const gone = await live(database, 0);
    const [signed] = await gone.steps(mined);
    // The first is mined as it was signed. The second is replaced, and mined then.
    await chains.rpc('MATIC', 'hardhat_dropTransaction', [(await gone.steps(replaced))[0]?.hash]);
    await chains.mine('MATIC');
    expect(await gone.advance(mined)).toBe('complete');
    await gone.advance(replaced);
    await chains.rpc('MATIC', 'evm_setAutomine', [true]);
    await chains.mine('MATIC');
    expect(await gone.advance(replaced)).toBe('complete');
    const [replacement] = await gone.steps(replaced);
    await gone.end();

    const restored = await live(backup, 0);
    for (const id of [mined, replaced]) expect(await restored.advance(id)).toBe('complete');
    expect((await restored.steps(mined))[0]?.hash).toBe(signed?.hash);
    expect((await restored.steps(replaced))[0]?.hash).toBe(replacement?.hash);
    expect(await paidTo(to)).toBe(49_000_000n + 30_000_000n);
    expect(await restored.operator('unknown')).toEqual(['This database knows every transaction of the house wallets.']);
    await restored.end();
  });
});
