// @module-tag thorough
import { beforeAll, describe, expect, test } from 'vitest';
import type { Network } from '../../../../src/chains/network.ts';
import { reportReserves } from '../../../../src/custody/reserves/report.ts';
import { chooseWallets, richestWallets } from '../../../../src/custody/sweeps/open-sweep.ts';
import { payAtOnce, readUp, type User, useDepositWorld } from '../../../support/deposits.ts';
import { startUnrulyRpc } from '../../../support/unruly-rpc.ts';

/** Wallets with deposits too small to be swept: they stay, and there are ever more of them. */
const world = useDepositWorld();
const { chains, database } = world;
const { db } = database;
const count = 520;
let users: User[];

beforeAll(async () => {
  const reader = world.reader('MATIC');
  await readUp(reader);
  users = await world.newUsers(count);
  const payer = await chains.outsider();
  for (let start = 0; start < count; start += 130) {
    const some = users.slice(start, start + 130);
    const dust = some.map((user, index) => [user.address, BigInt(start + index + 1)] as const);
    await payAtOnce(chains, 'MATIC', payer, dust);
  }
  await readUp(reader);
  await reader.release();
});

async function usdcOn(network: Network, chainTimeoutMs = 20_000) {
  const { reserves } = await reportReserves({
    db,
    networks: new Map([['MATIC', network]]),
    logger: world.log.logger,
    chainTimeoutMs,
  });
  return reserves.find(({ asset }) => asset === 'USDC');
}

const whole = { onChain: '0.13546', owed: '0.13546', inFlight: '0', difference: '0' };

describe('the report over many wallets with dust', () => {
  test('is exact', async () => {
    expect(await usdcOn(chains.network('MATIC'))).toMatchObject(whole);
  });

  test('is exact also with a node that takes small requests only', async () => {
    const settings = chains.local.settings.get('MATIC');
    if (settings === undefined) throw new Error('there is no Polygon');
    const unruly = await startUnrulyRpc('MATIC', settings);
    let refused = 0;
    unruly.misbehave(({ method, params }) => {
      if (method !== 'eth_call' || JSON.stringify(params).length < 80_000) return undefined;
      refused++;
      return { error: { code: -32_000, message: 'out of gas' } };
    });
    expect(await usdcOn(unruly.network)).toMatchObject(whole);
    expect(refused).toBeGreaterThan(0);
  });

  test('leaves nobody out when a node falls silent: then the chain is unavailable, and is not asked any further', async () => {
    const settings = chains.local.settings.get('MATIC');
    if (settings === undefined) throw new Error('there is no Polygon');
    const unruly = await startUnrulyRpc('MATIC', settings);
    unruly.misbehave(({ method }) => (method === 'eth_call' ? 'silent' : undefined));
    // Long enough to come as far as that question on a slow machine, and shorter than its answer is waited for.
    expect(await usdcOn(unruly.network, 3_000)).toMatchObject({
      onChain: null,
      difference: null,
      unavailable: 'The chain does not answer.',
    });
    // One for each slice of the first asset; nothing was asked a second time, and nothing of the other asset.
    expect(unruly.asked.get('eth_call')).toBeLessThanOrEqual(2);
  });
});

describe('the wallets that are worth sweeping', () => {
  const options = { threshold: 500n, mostWallets: 50, except: [] as readonly `0x${string}`[] };
  const choose = (given: Partial<typeof options> = {}) =>
    chooseWallets(db, { id: 'MATIC' }, { asset: 'USDC' }, { ...options, ...given });

  test('are those with most in them, exactly as deposited', async () => {
    const chosen = await choose();
    expect(chosen.map(({ atomic }) => atomic)).toEqual(Array.from({ length: 21 }, (_, index) => BigInt(count - index)));
    expect(chosen.map(({ address }) => address)).toEqual(
      users
        .slice(499)
        .reverse()
        .map(({ address }) => address),
    );
    expect(chosen.every(({ depositIds }) => depositIds.length === 1)).toBe(true);
    const [first] = chosen;
    expect((await choose({ mostWallets: 3 })).map(({ atomic }) => atomic)).toEqual([520n, 519n, 518n]);
    expect(await choose({ mostWallets: 1, except: first === undefined ? [] : [first.address] })).toMatchObject([
      { atomic: 519n },
    ]);
  });

  test('follow what is deposited, taken by a sweep, given back by it and swept', async () => {
    const [first] = await choose({ mostWallets: 1 });
    const ids = first?.depositIds ?? [];
    await db.query("INSERT INTO sweeps (id, chain, asset, status) VALUES ('swe_1', 'MATIC', 'USDC', 'signed')");
    await db.query("UPDATE deposits SET sweep_id = 'swe_1' WHERE id = ANY ($1)", [ids]);
    expect(await choose({ mostWallets: 1 })).toMatchObject([{ atomic: 519n }]);
    await db.query('UPDATE deposits SET sweep_id = NULL WHERE id = ANY ($1)', [ids]);
    expect(await choose({ mostWallets: 1 })).toEqual([first]);
    await db.query('UPDATE deposits SET swept_at = now() WHERE id = ANY ($1)', [ids]);
    expect(await choose({ mostWallets: 1 })).toMatchObject([{ atomic: 519n }]);
    await db.query('UPDATE deposits SET swept_at = NULL WHERE id = ANY ($1)', [ids]);
    const reader = world.reader('MATIC');
    await chains.mint('MATIC', 'USDC', users[0]?.address ?? '0x', 1_000n);
    await readUp(reader);
    await reader.release();
    expect(await choose({ mostWallets: 1 })).toMatchObject([{ address: users[0]?.address, atomic: 1_001n }]);
  });

  test('are counted rightly by several at once, while deposits change', async () => {
    const change = (turn: number) =>
      db.query('UPDATE deposits SET swept_at = CASE WHEN random() < 0.5 THEN now() END WHERE atomic % 7 = $1', [
        turn % 7,
      ]);
    await Promise.all(Array.from({ length: 24 }, (_, turn) => (turn % 3 === 0 ? change(turn) : choose())));
    await choose();
    const { rows } = await db.query(
      `SELECT FROM unswept_wallets w FULL JOIN (
         SELECT chain, asset, address, sum(atomic) AS atomic FROM deposits
          WHERE swept_at IS NULL AND sweep_id IS NULL AND account_id IS NOT NULL GROUP BY 1, 2, 3) d
         USING (chain, asset, address) WHERE w.atomic IS DISTINCT FROM d.atomic`,
    );
    expect(rows).toEqual([]);
    expect((await db.query('SELECT FROM unswept_changes')).rowCount).toBe(0);
  });

  test('are found by the index, without looking at the others', async () => {
    await db.query(
      `INSERT INTO unswept_wallets SELECT 'MATIC', 'USDC', '0x' || lpad(to_hex(i), 40, '0'), i
         FROM generate_series(1, 20000) i`,
    );
    await db.query('ANALYZE unswept_wallets');
    const { rows } = await db.query<{ 'QUERY PLAN': string }>(
      `EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) ${richestWallets}`,
      ['MATIC', 'USDC', 1n, 50, []],
    );
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(plan).toMatch(/Index (Only )?Scan using unswept_wallets_by_amount/);
    expect(plan).not.toMatch(/Sort|Seq Scan/);
    expect(plan).toMatch(/actual rows=50/);
  });
});
