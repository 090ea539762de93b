import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { encodeFunctionData, type Hex } from 'viem';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { tokenAbi } from '../../../../src/chains/abi.ts';
import { findStep } from '../../../../src/custody/steps/chain-step.ts';
import { planStep } from '../../../../src/custody/steps/plan-step.ts';
import { isLiquidityNeeded, promisedSince, serveLiquidity } from '../../../../src/custody/steps/serve-liquidity.ts';
import { settleStep } from '../../../../src/custody/steps/settle-step.ts';
import { addHouseWallet, type HouseWallet, houseWallet } from '../../../../src/custody/wallets/house-wallets.ts';
import type { Database, Queryable, Transaction } from '../../../../src/kernel/db/database.ts';
import { amountOf } from '../../../../src/money/amount.ts';
import { usdcOn } from '../../../support/arrivals.ts';
import { handOf } from '../../../support/custody.ts';
import { readUp, useDepositWorld } from '../../../support/deposits.ts';
import { fund } from '../../../support/ledger.ts';
import { isMatrix } from '../../../support/matrix.ts';

const chain = 'MATIC';
const asset = 'USDC';
const world = useDepositWorld();
const { chains } = world;
const { db } = world.database;
const outside = (): Hex => `0x${randomBytes(20).toString('hex')}`;

let treasury: HouseWallet;
beforeAll(() => readUp(world.reader(chain)));
beforeEach(openTreasury);

/** An empty one, that nobody waits for yet. */
async function openTreasury(): Promise<void> {
  await db.query('DELETE FROM chain_steps WHERE asked_at IS NULL');
  await retireTreasury();
  await addHouseWallet(db, world.provider, 'treasury', chain);
  treasury = await houseWallet(db, 'treasury', chain);
  world.log.clear();
}

async function retireTreasury(): Promise<void> {
  await db.query("UPDATE house_wallets SET retired_at = now() WHERE purpose = 'treasury' AND retired_at IS NULL");
}

const arrive = (atomic: bigint) => chains.mint(chain, asset, treasury.address, atomic);

/** A step that waits for so much. */
async function waits(atomic: bigint): Promise<string> {
  const sagaId = `wdr_${randomBytes(8).toString('hex')}`;
  const leaves = [{ amount: amountOf(asset, atomic), recipient: outside() }];
  await db.transaction((tx) => planStep(tx, { saga: 'withdrawal', sagaId, step: 'pay', chain, leaves }));
  return sagaId;
}

/** As one process does. */
function serve({ passAfterMs = 60_000, using = db }: { passAfterMs?: number; using?: Database } = {}): Promise<void> {
  return serveLiquidity(
    { db: using, networks: chains.networks, logger: world.log.logger, passAfterMs },
    { chain, asset },
  );
}

const stateOf = async (sagaId: string) => (await findStep(db, { sagaId, step: 'pay' }))?.state;
const states = (sagaIds: readonly string[]) => Promise.all(sagaIds.map(stateOf));
const told = () => world.log.lines('error').map(({ msg }) => msg);
const promised = async () => promisedSince(db, treasury.id, asset, new Date(0));

async function woken(sagaId: string): Promise<boolean> {
  return (await db.query('SELECT FROM graphile_worker.jobs WHERE key = $1', [sagaId])).rows.length > 0;
}

/** The head of the line has been short for as long as that. */
async function letPass(ms: number): Promise<void> {
  await db.query('UPDATE chain_step_leaves SET short_since = short_since - make_interval(secs => $1)', [ms / 1_000]);
}

describe('whoever came first is served first', () => {
  test('as far as the tokens go, and is woken', async () => {
    const line = [await waits(30n), await waits(50n), await waits(40n)];
    await serve();
    expect(await states(line)).toEqual(['waiting', 'waiting', 'waiting']);
    await arrive(100n);
    await serve();
    expect(await states(line)).toEqual(['ready', 'ready', 'waiting']);
    expect(await Promise.all(line.map(woken))).toEqual([true, true, false]);
    expect(await promised()).toBe(80n);
    expect(await isLiquidityNeeded(db, chain, asset)).toBe(true);
    await arrive(20n);
    await serve();
    expect(await states(line)).toEqual(['ready', 'ready', 'ready']);
    expect(await isLiquidityNeeded(db, chain, asset)).toBe(false);
  });

  test('also when it is large, and small ones behind it would fit', async () => {
    const [large, ...small] = [await waits(1_000n), await waits(1n), await waits(2n)];
    await arrive(999n);
    await serve();
    await serve();
    expect(await states([large, ...small])).toEqual(['waiting', 'waiting', 'waiting']);
    expect(told()).toEqual([]);
    await arrive(1n);
    await serve();
    expect(await states([large, ...small])).toEqual(['ready', 'waiting', 'waiting']);
  });

  test('but lets the others past after a while, which the operator is told once', async () => {
    const [large, ...small] = [await waits(1_000n), await waits(1n), await waits(2n)];
    // A while in which nothing of this test happens by itself, however slow the machine.
    const passAfterMs = 600_000;
    await arrive(2n);
    await serve({ passAfterMs });
    await letPass(400_000);
    await serve({ passAfterMs });
    expect(await states([large, ...small])).toEqual(['waiting', 'waiting', 'waiting']);
    await letPass(200_000);
    await Promise.all([serve({ passAfterMs }), serve({ passAfterMs })]);
    await serve({ passAfterMs });
    expect(await states([large, ...small])).toEqual(['waiting', 'ready', 'waiting']);
    expect(told()).toEqual(['there is not enough for 0.001 USDC: later steps are served first']);
    expect(world.log.lines('error')).toMatchObject([{ chain, saga: 'withdrawal', id: large }]);

    // It keeps its place: what comes is for it first.
    await arrive(1_000n);
    await serve({ passAfterMs });
    expect(await states([large, ...small])).toEqual(['ready', 'ready', 'waiting']);
  });

  test('and when several are too large, they are waited for at the same time', async () => {
    const line = [await waits(1_000n), await waits(900n), await waits(3n)];
    await arrive(10n);
    await serve();
    expect(await states(line)).toEqual(['waiting', 'waiting', 'waiting']);
    await letPass(60_000);
    await serve();
    expect(await states(line)).toEqual(['waiting', 'waiting', 'ready']);
    expect(told()).toHaveLength(2);
  });
});

describe('no token is promised twice', () => {
  test('of what was paid a moment ago and is perhaps still in the balance that was read', async () => {
    const [first, second] = [await waits(60n), await waits(60n)];
    await arrive(60n);
    await serve();
    const slow: Database = {
      ...db,
      transaction: async (work, options) => {
        // Between the balance and the promise the first one is paid, and its end is in the books.
        await pay(first, 60n);
        return db.transaction(work, options);
      },
    };
    await serve({ using: slow });
    expect(await states([first, second])).toEqual(['confirmed', 'waiting']);
    await serve();
    expect(await stateOf(second)).toBe('waiting');
    await arrive(60n);
    await serve();
    expect(await stateOf(second)).toBe('ready');
  });

  test('by two processes, the second of which serves between two looks of the first', async () => {
    const line = [await waits(60n), await waits(60n)];
    await arrive(60n);
    let others = 0;
    const interrupted: Database = {
      ...db,
      transaction: (work, options) =>
        db.transaction(
          (tx) =>
            work({
              ...tx,
              query: async (sql: string, values?: readonly unknown[]) => {
                if (sql.includes('waiting_since') && others++ === 0) await serve();
                return tx.query(sql, values);
              },
            } as Transaction),
          options,
        ),
    };
    await serve({ using: interrupted });
    expect(others).toBeGreaterThan(0);
    expect((await states(line)).toSorted()).toEqual(['ready', 'waiting']);
    expect(await promised()).toBe(60n);
  });

  test('of an asset that nobody has looked at: a step waits for one', async () => {
    const leaves = [{ amount: amountOf('USDC', 1n) }, { amount: amountOf('EURC', 1n) }];
    const planned = { saga: 'withdrawal', sagaId: 'wdr_two', step: 'pay', chain } as const;
    await expect(db.transaction((tx) => planStep(tx, { ...planned, leaves }))).rejects.toThrow(TypeError);
    await expect(db.transaction((tx) => planStep(tx, planned))).rejects.toThrow(TypeError);
    expect(await stateOf('wdr_two')).toBeUndefined();
  });

  test('whatever waits, whatever comes, and however many serve at once', { tags: ['longer'] }, async () => {
    const happening = fc.oneof(
      fc.record({ waits: fc.bigInt(1n, 60n) }),
      fc.record({ arrives: fc.bigInt(1n, 100n) }),
      fc.record({ serves: fc.integer({ min: 1, max: 4 }) }),
      fc.record({ paysAndServes: fc.integer({ min: 1, max: 3 }) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(happening, { minLength: 5, maxLength: 25 }), async (happenings) => {
        await openTreasury();
        let arrived = 0n;
        const line: { id: string; atomic: bigint }[] = [];
        const serveAtOnce = (count: number) => Array.from({ length: count }, () => serve({ passAfterMs: 0 }));
        for (const one of happenings) {
          if ('waits' in one) line.push({ id: await waits(one.waits), atomic: one.waits });
          else if ('arrives' in one) {
            await arrive(one.arrives);
            arrived += one.arrives;
          } else if ('serves' in one) await Promise.all(serveAtOnce(one.serves));
          else {
            const ready = [];
            for (const each of line) if ((await stateOf(each.id)) === 'ready') ready.push(pay(each.id, each.atomic));
            await Promise.all([...ready, ...serveAtOnce(one.paysAndServes)]);
          }
          expect(await promised()).toBeLessThanOrEqual(arrived);
        }
        // Nobody is forgotten either: with enough for all, all are served.
        await arrive(60n * BigInt(happenings.length));
        await serve();
        expect(new Set(await states(line.map(({ id }) => id)))).not.toContain('waiting');
      }),
      { numRuns: isMatrix ? 12 : 3 },
    );
  });
});

/** The provider pays it, and its end is written into the books. */
async function pay(sagaId: string, atomic: bigint): Promise<void> {
  const which = { sagaId, step: 'pay' };
  await db.query("UPDATE chain_steps SET state = 'asked', asked_at = now() WHERE saga_id = $1", [sagaId]);
  const from = treasury.address;
  await chains.rpc(chain, 'hardhat_setBalance', [from, '0x56bc75e2d63100000']);
  await chains.rpc(chain, 'hardhat_impersonateAccount', [from]);
  const data = encodeFunctionData({ abi: tokenAbi, functionName: 'transfer', args: [outside(), atomic] });
  const hash = await chains.rpc<Hex>(chain, 'eth_sendTransaction', [{ from, to: usdcOn(chains), data }]);
  const { blockNumber } = await chains.network(chain).client.getTransactionReceipt({ hash });
  await db.transaction((tx) => settleStep(tx, which, { state: 'confirmed', hash, blockNumber, gasCost: 0n }));
}

describe('a treasury that is retired', () => {
  test('promises nothing more, also when that happens after its balance was read', async () => {
    const id = await waits(10n);
    await arrive(10n);
    const slow: Database = {
      ...db,
      transaction: async (work, options) => {
        await retireTreasury();
        return db.transaction(work, options);
      },
    };
    await serve({ using: slow });
    expect(await stateOf(id)).toBe('waiting');

    const old = treasury;
    await addHouseWallet(db, world.provider, 'treasury', chain);
    await serve();
    expect(await stateOf(id)).toBe('waiting');
    treasury = await houseWallet(db, 'treasury', chain);
    expect(treasury.id).not.toBe(old.id);
    await arrive(10n);
    await serve();
    expect(await findStep(db, { sagaId: id, step: 'pay' })).toMatchObject({ state: 'ready', walletId: treasury.id });
  });
});

describe('a withdrawal that is stopped', () => {
  async function withdrawal(gross: bigint, screening = { check: async () => ({ clear: true }) as const }) {
    const user = await world.newUser();
    await fund(world.ledger, [user], gross);
    const hand = handOf(world, { screening });
    const id = await hand.withdraw(user.id, { gross, fee: 0n, to: outside() });
    await hand.advance(id);
    return { id, user, hand };
  }

  const statusOf = async (id: string) =>
    (await db.query<{ status: string }>('SELECT status FROM withdrawals WHERE id = $1', [id])).rows[0]?.status;

  test('by the screening leaves the line, and those behind it move up', async () => {
    const first = await withdrawal(50n);
    const second = await withdrawal(40n);
    expect(await states([first.id, second.id])).toEqual(['waiting', 'waiting']);
    await arrive(40n);
    const strict = handOf(world, { screening: { check: async () => ({ clear: false, reason: 'a listed address' }) } });
    await strict.advance(first.id);
    expect(await statusOf(first.id)).toBe('held');
    expect(await stateOf(first.id)).toBeUndefined();
    await serve();
    expect(await stateOf(second.id)).toBe('ready');
  });

  test('because its account is frozen gives back what was set aside for it', async () => {
    const { id, user, hand } = await withdrawal(50n);
    await arrive(50n);
    await serve();
    expect(await stateOf(id)).toBe('ready');
    expect(await promised()).toBe(50n);
    await db.query('UPDATE accounts SET frozen_at = now() WHERE id = $1', [user.id]);
    await hand.advance(id);
    expect(await statusOf(id)).toBe('held');
    expect(await promised()).toBe(0n);
    const next = await waits(50n);
    await serve();
    expect(await stateOf(next)).toBe('ready');
  });

  test('and let go again stands at the end of the line', async () => {
    const { id, hand } = await withdrawal(50n);
    const strict = handOf(world, { screening: { check: async () => ({ clear: false, reason: 'a listed address' }) } });
    await strict.advance(id);
    const other = await waits(50n);
    await db.query("UPDATE withdrawals SET status = 'awaiting_liquidity', released_at = now() WHERE id = $1", [id]);
    await hand.advance(id);
    await arrive(50n);
    await serve();
    expect(await states([id, other])).toEqual(['waiting', 'ready']);
  });
});

test('with a long history behind, one look at an index tells what is promised and who is next', async () => {
  // In pieces: a busy machine has no time for all of it in one statement.
  for (let first = 1; first < 20_000; first += 2_500) {
    await db.query(
      `WITH steps AS (
         INSERT INTO chain_steps (id, saga, saga_id, step, chain, wallet_id, state, asked_at, provider_ref, hash, settled_at)
           SELECT gen_random_uuid(), 'withdrawal', 'wdr_old_' || i, 'pay', $1, $2, 'confirmed', now(), 'ref_' || i, '0x' || i,
                  now() - interval '1 day' FROM generate_series($4::int, $4::int + 2499) i RETURNING id)
       INSERT INTO chain_step_leaves (step_id, chain, wallet_id, asset, atomic, settled_at)
         SELECT id, $1, $2, $3, 1, now() - interval '1 day' FROM steps`,
      [chain, treasury.id, asset, first],
    );
  }
  const waiting = await waits(5n);
  await db.query('ANALYZE chain_steps, chain_step_leaves');
  await arrive(5n);
  const plans: string[] = [];
  await serve({ using: explaining(plans) });
  expect(await stateOf(waiting)).toBe('ready');
  const promises = plans.filter((plan) => plan.includes('sum(atomic)'));
  const queues = plans.filter((plan) => plan.includes('waiting_since'));
  expect([promises.length, queues.length]).toEqual([1, 1]);
  expect(promises[0]).toMatch(/Index( Only)? Scan using chain_step_leaves_promised/);
  expect(queues[0]).toMatch(/Index( Only)? Scan using chain_step_leaves_queue/);
  expect(`${promises[0]}${queues[0]}`).not.toContain('Seq Scan');
});

/** Notes each question with how the database would answer it. */
function explaining(plans: string[]): Database {
  const noting = <Asked extends Queryable>(asked: Asked): Asked => ({
    ...asked,
    query: async (sql: string, values?: unknown[]) => {
      if (/^\s*(SELECT|UPDATE)/.test(sql)) {
        const { rows } = await asked.query<Record<string, string>>(`EXPLAIN ${sql}`, values);
        plans.push([sql, ...rows.map((row) => row['QUERY PLAN'])].join('\n'));
      }
      return asked.query(sql, values);
    },
  });
  return { ...db, transaction: (work, options) => db.transaction((tx) => work(noting(tx)), options) };
}
