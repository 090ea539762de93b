import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { beforeAll, describe, expect, test } from 'vitest';
import { createNetworks, type Network } from '../../../../src/chains/network.ts';
import { addReserveCommands } from '../../../../src/custody/reserves/commands.ts';
import { type ReconcileParts, reconcile } from '../../../../src/custody/reserves/reconcile.ts';
import { takeSnapshot } from '../../../../src/custody/reserves/take-snapshot.ts';
import { sweepSaga } from '../../../../src/custody/sweeps/sweep-saga.ts';
import { houseMoveSaga } from '../../../../src/custody/treasury/house-move.ts';
import { houseWallet } from '../../../../src/custody/wallets/house-wallets.ts';
import { usualPatience } from '../../../../src/kernel/db/migration-lock.ts';
import { houseAccount, userAccount } from '../../../../src/ledger/account-id.ts';
import { archiveMonth } from '../../../../src/ledger/archive/archive-month.ts';
import { amountOf } from '../../../../src/money/amount.ts';
import type { ChainId } from '../../../../src/money/catalogue.ts';
import type { ChainReader } from '../../../../src/payments/deposits/read-chain.ts';
import { withdrawalSaga } from '../../../../src/payments/withdrawals/saga.ts';
import { type Hand, handOf } from '../../../support/custody.ts';
import { readUp, type User, useDepositWorld } from '../../../support/deposits.ts';
import { endMonth } from '../../../support/months.ts';

const world = useDepositWorld();
const { database, chains } = world;
const { db } = database;
const hash = () => `0x${randomBytes(32).toString('hex')}` as const;
const outside = () => `0x${randomBytes(20).toString('hex')}` as const;

let networks: ReadonlyMap<ChainId, Network>;
let hand: Hand;
let reader: ChainReader;
let user: User;
let withdrawalId: string;
let depositId: string;

/** A deposit that was swept, one that was not, and a withdrawal that arrived: a day in the life of the service. */
beforeAll(async () => {
  networks = new Map([['MATIC', chains.network('MATIC')]]);
  hand = handOf(world);
  await hand.fillTanks();
  reader = world.reader('MATIC');
  await readUp(reader);
  user = await world.newUser();
  await chains.mint('MATIC', 'USDC', user.address, 80_000_000n);
  await readUp(reader);
  await hand.sweeper.step();
  await readUp(reader);
  await hand.sweeper.step();
  withdrawalId = await hand.withdraw(user.id, { gross: 10_000_000n, fee: 149_000n, to: outside() });
  await hand.advance(withdrawalId);
  await readUp(reader);
  await hand.advance(withdrawalId);
  await chains.mint('MATIC', 'USDC', user.address, 20_000_000n);
  await readUp(reader);
  await takeSnapshot(db, { minAgeMs: 0 });
  const { rows } = await db.query<{ id: string }>('SELECT id FROM deposits ORDER BY id DESC LIMIT 1');
  depositId = rows[0]?.id ?? '';
});

const sagas = [withdrawalSaga, sweepSaga, houseMoveSaga];
const drift = (parts: Partial<ReconcileParts> = {}) => reconcile({ db, networks, sagas, ...parts });
const hours = 60 * 60_000;

/** Changes something behind everybody's back, looks, and puts it back. */
async function withChange(
  table: string,
  id: string,
  set: string,
  look: () => Promise<void>,
  key = 'id',
): Promise<void> {
  const columns = set.split(/, (?=\w+ =)/).map((assignment) => assignment.split(' = ')[0] as string);
  const { rows } = await db.query(
    `SELECT ARRAY[${columns.map((column) => `${column}::text`)}] AS before FROM ${table} WHERE ${key} = $1`,
    [id],
  );
  await tamper(`UPDATE ${table} SET ${set} WHERE ${key} = $1`, [id]);
  try {
    await look();
  } finally {
    const back = columns.map((column, index) => `${column} = $${index + 2}`).join(', ');
    await tamper(`UPDATE ${table} SET ${back} WHERE ${key} = $1`, [id, ...(rows[0]?.['before'] ?? [])]);
  }
}

/** What the provider was asked to do for a withdrawal. */
async function stepOf(sagaId: string): Promise<string> {
  const { rows } = await db.query<{ id: string }>('SELECT id FROM chain_steps WHERE saga_id = $1', [sagaId]);
  return rows[0]?.id ?? '';
}

/** As somebody could who has the database to himself: its own guards do not look. */
function tamper(sql: string, values: readonly unknown[]): Promise<void> {
  return db.transaction(async (tx) => {
    await tx.query('SET LOCAL session_replication_role = replica');
    await tx.query(sql, values);
  });
}

test('says nothing when nothing has drifted, also while money is under way', async () => {
  expect(await drift()).toEqual([]);
  const id = await hand.withdraw(user.id, { gross: 1_000_000n, fee: 0n, to: outside() });
  expect(await drift()).toEqual([]);
  await hand.advance(id);
  expect(await drift()).toEqual([]);
  await hand.sweeper.step();
  expect(await drift()).toEqual([]);
  await readUp(reader);
  expect(await drift()).toEqual([]);
  await hand.advance(id);
  await hand.sweeper.step();
  expect(await drift()).toEqual([]);
});

describe('names', () => {
  test('a deposit whose row says something else than ledger and chain', () =>
    withChange('deposits', depositId, 'atomic = 21000000', async () => {
      const findings = await drift();
      expect(findings).toContainEqual(
        expect.stringMatching(`deposit ${depositId} of 21 USDC .* credited with 20 USDC`),
      );
      expect(findings).toContainEqual(
        expect.stringMatching(`deposit ${depositId} of 21 USDC .* on the chain with 20 USDC`),
      );
    }));

  test('a deposit that is not on the chain any more, and a credit that is no deposit', () =>
    withChange('deposits', depositId, `tx_hash = '${hash()}'`, async () => {
      const findings = await drift();
      expect(findings).toContainEqual(expect.stringMatching(`deposit ${depositId} .* is not on the chain any more`));
      expect(findings).toContainEqual(expect.stringMatching(`deposit ${depositId} .* has no posting`));
      expect(findings).toContainEqual(
        expect.stringMatching(/The ledger credited 20 USDC for deposit:MATIC:.* no deposit/),
      );
    }));

  test('a deposit at another place of its transaction', () =>
    withChange('deposits', depositId, 'position = 5', async () => {
      expect(await drift()).toContainEqual(
        expect.stringMatching(`deposit ${depositId} .* on the chain as something else`),
      );
    }));

  test('a deposit that is marked as swept and was not, or the other way round', async () => {
    const { rows } = await db.query<{ id: string; swept: boolean; atomic: bigint }>(
      'SELECT id, swept_at IS NOT NULL AS swept, atomic FROM deposits WHERE swept_at IS NOT NULL ORDER BY id LIMIT 1',
    );
    await withChange('deposits', rows[0]?.id ?? '', 'swept_at = NULL, sweep_id = NULL', async () => {
      expect(await drift()).toEqual([
        expect.stringMatching(/wallet 0x.* holds 0 USDC, but its deposits that were not swept come to 80 USDC/),
      ]);
    });
  });

  test('a withdrawal that is complete and was not paid', async () => {
    const stepId = await stepOf(withdrawalId);
    await withChange('chain_steps', stepId, `hash = '${hash()}'`, async () => {
      expect(await drift()).toEqual([
        expect.stringMatching(`withdrawal ${withdrawalId} of 9.851 USDC .* is complete, but 0x.* is not on the chain`),
      ]);
    });
    const notAsAsked = `Withdrawal ${withdrawalId} of 10 USDC is not what the wallet provider was asked for.`;
    for (const change of [`recipient = '${outside()}'`, 'atomic = 9850999']) {
      await withChange(
        'chain_step_leaves',
        stepId,
        change,
        async () => {
          expect(await drift()).toEqual([
            notAsAsked,
            expect.stringMatching(/is complete, but 0x.* does not pay exactly that/),
          ]);
        },
        'step_id',
      );
    }
    for (const change of [`address = '${outside()}'`, 'net = 9850999, fee = 149001']) {
      await withChange('withdrawals', withdrawalId, change, async () => expect(await drift()).toEqual([notAsAsked]));
    }
  });

  test('a withdrawal that was given back and paid', async () => {
    const stepId = await stepOf(withdrawalId);
    await withChange('chain_steps', stepId, "state = 'failed'", () =>
      withChange('withdrawals', withdrawalId, "status = 'failed'", async () => {
        expect(await drift()).toEqual([
          `Withdrawal ${withdrawalId} of 10 USDC failed, but was not given back.`,
          expect.stringMatching(`withdrawal ${withdrawalId} of 9.851 USDC .* was given back, but 0x.* has paid it`),
        ]);
      }),
    );
  });

  test('a withdrawal that was cancelled and not given back', async () => {
    await withChange('withdrawals', withdrawalId, "status = 'cancelled'", async () => {
      expect(await drift()).toContain(`Withdrawal ${withdrawalId} of 10 USDC was cancelled, but not given back.`);
    });
  });

  test('one payment that is taken for two', async () => {
    const { rows } = await db.query<{ id: string; sagaId: string; hash: string }>(
      "SELECT id, saga_id, hash FROM chain_steps WHERE saga = 'withdrawal' AND state = 'confirmed' ORDER BY saga_id",
    );
    type Row = (typeof rows)[number];
    const [one, two] = rows as [Row, Row];
    await withChange('chain_steps', two.id, `hash = '${one.hash}'`, async () => {
      expect(await drift()).toContain(
        `MATIC: transaction ${one.hash} is taken as the payment of ${one.sagaId} and ${two.sagaId}.`,
      );
    });
  });

  test('what has been under way for too long', async () => {
    const id = await hand.withdraw(user.id, { gross: 1_000_000n, fee: 0n, to: outside() });
    expect(await drift()).toEqual([]);
    expect(await drift({ laterMs: 1 * hours })).toEqual([
      expect.stringMatching(`withdrawal ${id} \\(1 USDC on MATIC to 0x.*\\) is queued since 20.*`),
    ]);
    await hand.advance(id);
    await readUp(reader);
    await hand.advance(id);
    await db.query(`INSERT INTO sweeps (id, chain, asset, status) VALUES ('swe_stuck', 'MATIC', 'USDC', 'sending')`);
    await db.query(
      `INSERT INTO sweep_items (sweep_id, address, treasury, atomic, nonce, valid_before, signature)
       VALUES ('swe_stuck', $1, $1, 5000000, '0x', 0, '0x')`,
      [outside()],
    );
    expect(await drift({ laterMs: 2 * hours })).toEqual([]);
    expect(await drift({ laterMs: 4 * hours })).toEqual([
      expect.stringMatching('sweep swe_stuck \\(5 USDC of 1 wallets on MATIC\\) is sending since'),
    ]);
    await db.query("DELETE FROM sweep_items WHERE sweep_id = 'swe_stuck'");
    await db.query("DELETE FROM sweeps WHERE id = 'swe_stuck'");
    expect(await drift()).toEqual([]);
  });

  test('a tree that does not hold what was owed', async () => {
    const { rows } = await db.query<{ id: string }>("SELECT id FROM reserve_trees WHERE asset = 'USDC'");
    await withChange('reserve_trees', String(rows[0]?.id), 'owed = owed + 1', async () => {
      expect(await drift()).toEqual([
        expect.stringMatching(/the tree of snapshot rsv_.* holds .* USDC, but .* USDC was owed/),
      ]);
    });
  });

  test('a ledger that was changed by hand', async () => {
    const account = String(userAccount(user.id, 'USDC'));
    await withChange('ledger.accounts', account, 'balance = balance + 1', async () => {
      const findings = await drift();
      expect(findings).toContainEqual(expect.stringContaining(`Account ${account} has `));
      expect(findings).toContainEqual(expect.stringMatching(/MATIC: the ledger holds .* in custody for claims of/));
      expect(findings).toContainEqual(expect.stringMatching(/a difference of -0.000001 USDC/));
    });
    expect(await drift()).toEqual([]);
  });

  test('a chain that was not read, lags behind, or does not answer', async () => {
    expect(await drift({ networks: new Map([['OP', chains.network('OP')]]) })).toEqual(
      expect.arrayContaining([
        'OP: the chain was never read.',
        expect.stringMatching(/MATIC: .* USDC is owed, but that token/),
      ]),
    );
    expect(await drift({ lagBlocks: -10 })).toEqual([
      expect.stringMatching(/^MATIC: \d+ confirmed blocks after block \d+ were not read yet/),
    ]);
    const silent = createNetworks(
      new Map([['MATIC', { urls: ['http://127.0.0.1:9'], confirmations: 1, pollMs: 1_000 }]] as const),
    );
    expect(await drift({ networks: silent })).toEqual([expect.stringMatching(/^MATIC: the chain could not be asked/)]);
    await db.query("UPDATE chain_cursors SET block_hash = replace(block_hash, '0x', '0y')");
    expect(await drift()).toEqual([expect.stringMatching(/^MATIC: block \d+ of MATIC was replaced by a reorg/)]);
    await db.query("UPDATE chain_cursors SET block_hash = replace(block_hash, '0y', '0x')");
  });

  test('money in transit that no withdrawal asks for', async () => {
    const move = (atomic: bigint) =>
      world.ledger.post({
        type: 'mistake',
        amount: amountOf('USDC', 1_000_000n),
        entries: [
          { account: userAccount(user.id, 'USDC'), atomic: -atomic },
          { account: houseAccount('withdrawals_in_transit', 'USDC'), atomic },
        ],
      });
    await move(1_000_000n);
    expect(await drift()).toEqual(['MATIC: 1 USDC is in transit, but open withdrawals come to 0 USDC.']);
    await move(-1_000_000n);
    expect(await drift()).toEqual([]);
  });
});

test('says nothing of deposits and withdrawals whose month was archived', async () => {
  await endMonth(db, 'second');
  await endMonth(db, 'third');
  const folder = await mkdtemp(join(tmpdir(), 'reconcile-'));
  const needs = async () => [];
  const options = { url: database.url, db, needs, patience: usualPatience, restMs: 0 };
  await archiveMonth(options, { name: 'first', file: join(folder, 'first') });
  await rm(folder, { recursive: true });
  expect(await drift()).toEqual([]);
  await withChange('withdrawals', withdrawalId, 'finished_at = NULL', async () => {
    expect(await drift()).toContain(`Withdrawal ${withdrawalId} of 10 USDC is open, but the ledger has ended it.`);
  });
  await withChange('deposits', depositId, "transfer_id = 'trf_01kp3v2m8rfk2s6y0e6v9q4w1x'", async () => {
    expect(await drift()).toEqual([expect.stringMatching(new RegExp(`deposit ${depositId} .* has no posting`))]);
  });
});

describe('the commands', () => {
  async function run(name: string): Promise<{ lines: string[]; code: string | number | undefined }> {
    const lines: string[] = [];
    const program = new Command();
    addReserveCommands(
      program,
      (work) => work({ db, networks, sagas }),
      (line) => void lines.push(line),
    );
    const before = process.exitCode;
    process.exitCode = 0;
    try {
      await program.parseAsync(['node', 'paywright', name]);
      return { lines, code: process.exitCode };
    } finally {
      process.exitCode = before;
    }
  }

  test('tell a person that all is well', async () => {
    expect(await run('reconcile')).toEqual({ lines: ['Nothing has drifted.'], code: 0 });
    const { lines, code } = await run('reserves');
    expect(code).toBe(0);
    expect(lines[0]).toMatch(/^chain +asset +on chain +owed +in flight +difference +block$/);
    expect(lines[1]).toMatch(/^MATIC +USDC +[\d.]+ +[\d.]+ +0 +0 +\d+$/);
    expect(lines.at(-1)).toMatch(/^Root of rsv_.*: MATIC USDC, [\d.]+ in all, [0-9a-f]{64}$/);
  });

  test('and, with exit code 1, that something is missing or was never credited', async () => {
    // Somebody with the keys takes money out, and a deposit is passed over.
    const treasury = await houseWallet(db, 'treasury', 'MATIC');
    const token = chains.network('MATIC').tokens.find(({ asset }) => asset === 'USDC')?.address ?? '0x';
    const stolen = { idempotencyKey: randomUUID(), from: treasury, token, to: outside(), atomic: 3_000_000n };
    await world.provider.sendToken(stolen);
    const other = await world.newUser();
    await chains.mint('MATIC', 'USDC', other.address, 1_000_000n);
    const { number, hash: blockHash } = await chains.network('MATIC').client.getBlock();
    await db.query("UPDATE chain_cursors SET block_number = $1, block_hash = $2 WHERE chain = 'MATIC'", [
      number,
      blockHash,
    ]);
    const { lines, code } = await run('reserves');
    expect(code).toBe(1);
    expect(lines[1]).toMatch(/^MATIC +USDC .* -3 +\d+$/);
    const reconciled = await run('reconcile');
    expect(reconciled.code).toBe(1);
    expect(reconciled.lines).toEqual([
      expect.stringMatching(/^MATIC: our wallets hold .* a difference of -2 USDC\.$/),
      `MATIC: wallet ${other.address.toLowerCase()} holds 1 USDC, but its deposits that were not swept come to 0 USDC.`,
    ]);
  });
});
