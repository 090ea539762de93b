import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { createNetworks, type Network } from '../../../../src/chains/network.ts';
import type { ReserveRow } from '../../../../src/custody/reserves/report.ts';
import { createReserves } from '../../../../src/custody/reserves/reserves.ts';
import { houseWallet } from '../../../../src/custody/wallets/house-wallets.ts';
import { Ended } from '../../../../src/kernel/sagas/checkpoint.ts';
import type { ChainId } from '../../../../src/money/catalogue.ts';
import type { ChainReader } from '../../../../src/payments/deposits/read-chain.ts';
import { type Hand, handOf } from '../../../support/custody.ts';
import { endAt, endLeases, readUp, type User, useDepositWorld } from '../../../support/deposits.ts';

const world = useDepositWorld({ confirmations: 3 });
const { database, chains } = world;
const { db } = database;
const outside = () => `0x${randomBytes(20).toString('hex')}` as const;

let reader: ChainReader;
let hand: Hand;
let user: User;
beforeAll(async () => {
  reader = world.reader('MATIC');
  await readUp(reader);
  hand = handOf(world);
  await hand.fillTanks();
  user = await world.newUser();
});

const networksOf = (...ids: ChainId[]) => new Map(ids.map((id) => [id, chains.network(id)] as const));

function report(networks: ReadonlyMap<ChainId, Network> = networksOf('MATIC')) {
  return createReserves({
    db,
    networks,
    logger: world.log.logger,
    clock: { now: () => 0 },
    chainTimeoutMs: 60_000,
  }).report();
}

/** What the report says of USDC on Polygon. Whatever happens, nothing may be missing and nothing too much. */
async function usdc(): Promise<Omit<ReserveRow, 'chain' | 'asset' | 'blockNumber' | 'difference'>> {
  const { reserves } = await report();
  expect(reserves.map(({ difference }) => difference)).toEqual(reserves.map(() => '0'));
  const found = reserves.find(({ asset }) => asset === 'USDC');
  if (found === undefined) throw new Error('there is no row for USDC on MATIC');
  const { chain: _, asset: _a, blockNumber: _b, difference: _d, ...rest } = found;
  return rest;
}

/** Mines until everything so far is confirmed, and reads up to there. */
async function confirm(): Promise<void> {
  await chains.mine('MATIC', 3);
  await readUp(reader);
}

describe('what we hold is what we owe, at every step', () => {
  test('of a deposit, also when its credit is ahead of the cursor', async () => {
    expect(await usdc()).toEqual({ onChain: '0', owed: '0', inFlight: '0' });
    await chains.mint('MATIC', 'USDC', user.address, 100_000_000n);
    await chains.mine('MATIC', 3);
    // The process ends between the credit and the cursor.
    const dying = world.reader('MATIC', { checkpoint: endAt('deposits.credited') });
    await endLeases(database);
    await expect(readUp(dying)).rejects.toThrow(Ended);
    expect(await usdc()).toEqual({ onChain: '0', owed: '100', inFlight: '-100' });
    await endLeases(database);
    reader = world.reader('MATIC');
    await confirm();
    expect(await usdc()).toEqual({ onChain: '100', owed: '100', inFlight: '0' });
  });

  test('of what strangers send to the house', async () => {
    const { address } = await houseWallet(db, 'treasury', 'MATIC');
    await chains.mint('MATIC', 'USDC', address, 7_000_000n);
    expect(await usdc()).toEqual({ onChain: '100', owed: '100', inFlight: '0' });
    await confirm();
    expect(await usdc()).toEqual({ onChain: '107', owed: '107', inFlight: '0' });
  });

  test('of what strangers send to a house wallet’s address on another chain', async () => {
    const avalanche = world.reader('AVAX');
    await readUp(avalanche);
    const { address } = await houseWallet(db, 'treasury', 'MATIC');
    await chains.mint('AVAX', 'USDC', address, 1_000_000n);
    await chains.mine('AVAX', 3);
    await readUp(avalanche);
    const { reserves } = await report(networksOf('AVAX'));
    expect(reserves.find(({ asset }) => asset === 'USDC')).toMatchObject({ onChain: '1', owed: '1', difference: '0' });
  });

  test('of a sweep', async () => {
    const even = { onChain: '107', owed: '107', inFlight: '0' };
    await hand.sweeper.step();
    expect(await usdc()).toEqual(even);
    await confirm();
    expect(await usdc()).toEqual(even);
    await hand.sweeper.step();
    const { rows } = await db.query('SELECT FROM deposits WHERE account_id IS NOT NULL AND swept_at IS NULL');
    expect(rows).toEqual([]);
    expect(await usdc()).toEqual(even);
  });

  test('of a withdrawal', async () => {
    const to = outside();
    const id = await hand.withdraw(user.id, { gross: 50_000_000n, fee: 745_000n, to });
    expect(await usdc()).toEqual({ onChain: '107', owed: '57', inFlight: '50' });
    await hand.advance(id);
    // It is mined, but in a block that was not read.
    expect(await chains.balanceOf('MATIC', 'USDC', to)).toBe(49_255_000n);
    expect(await usdc()).toEqual({ onChain: '107', owed: '57', inFlight: '50' });
    await confirm();
    // The chain has paid and the ledger does not know: what is left in flight is the fee.
    expect(await usdc()).toEqual({ onChain: '57.745', owed: '57', inFlight: '0.745' });
    await hand.advance(id);
    expect(await usdc()).toEqual({ onChain: '57.745', owed: '57.745', inFlight: '0' });
  });

  test('of a withdrawal that is a deposit for somebody else', async () => {
    const other = await world.newUser();
    const id = await hand.withdraw(user.id, { gross: 10_000_000n, fee: 149_000n, to: other.address });
    await hand.advance(id);
    expect(await usdc()).toEqual({ onChain: '57.745', owed: '47.745', inFlight: '10' });
    await confirm();
    expect(await usdc()).toEqual({ onChain: '57.745', owed: '57.596', inFlight: '0.149' });
    await hand.advance(id);
    expect(await usdc()).toEqual({ onChain: '57.745', owed: '57.745', inFlight: '0' });
  });

  test('of a reorganisation that takes a withdrawal back after it was told as complete', async () => {
    const fork = await chains.rpc('MATIC', 'evm_snapshot');
    await chains.mine('MATIC', 1);
    await readUp(reader);
    const id = await hand.withdraw(user.id, { gross: 5_000_000n, fee: 0n, to: outside() });
    await hand.advance(id);
    await confirm();
    await hand.advance(id);
    expect(await usdc()).toEqual({ onChain: '52.745', owed: '52.745', inFlight: '0' });
    await chains.rpc('MATIC', 'evm_revert', [fork]);
    await chains.mine('MATIC', 40);
    const [gone] = (await report()).reserves;
    expect(gone).toMatchObject({
      onChain: null,
      inFlight: null,
      difference: null,
      unavailable: 'A reorg replaced the block that was read.',
    });
    // One step takes the cursor back to before the fork. The chain still has there what the ledger has let go.
    await reader.step();
    expect(await usdc()).toEqual({ onChain: '57.745', owed: '52.745', inFlight: '5' });
  });
});

describe('a chain that cannot be asked', () => {
  test('is named, and the others are reported all the same', async () => {
    const silent = createNetworks(
      new Map([['ETH', { urls: ['http://127.0.0.1:9'], confirmations: 1, pollMs: 1_000 }]] as const),
    );
    const networks = new Map([...networksOf('MATIC', 'BASE'), ...silent]);
    // Nothing was ever read from BASE and nothing is owed there, so there is nothing to say.
    expect((await report(networks)).reserves.map(({ chain }) => chain)).toEqual(Array(5).fill('MATIC'));
    await db.query("INSERT INTO chain_cursors (chain, block_number, block_hash) VALUES ('ETH', 7, '0x00')");
    const { reserves } = await report(networks);
    expect(reserves.filter(({ chain }) => chain === 'ETH')).toEqual(
      ['USDC', 'EURC'].map((asset) => ({
        chain: 'ETH',
        asset,
        onChain: null,
        owed: '0',
        inFlight: null,
        difference: null,
        blockNumber: 7,
        unavailable: 'The chain does not answer.',
      })),
    );
    expect(reserves.filter(({ chain }) => chain === 'MATIC').map(({ difference }) => difference)).toEqual(
      Array(5).fill('0'),
    );
    // Addresses of RPC servers may hold keys.
    expect(JSON.stringify(reserves)).not.toContain('127.0.0.1');
  });
});

test('however many ask, the chains are asked once in five seconds', async () => {
  let asked = 0;
  const network = chains.network('MATIC');
  const client = new Proxy(network.client, {
    get(target, name) {
      if (name === 'getBlock') asked++;
      return Reflect.get(target, name) as unknown;
    },
  });
  let now = 1_000;
  const reserves = createReserves({
    db,
    networks: new Map([['MATIC', { ...network, client }]]),
    logger: world.log.logger,
    clock: { now: () => now },
  });
  const answers = await Promise.all(Array.from({ length: 50 }, () => reserves.report()));
  expect(new Set(answers).size).toBe(1);
  expect(asked).toBe(1);
  now += 4_999;
  await reserves.report();
  expect(asked).toBe(1);
  now += 1;
  await reserves.report();
  expect(asked).toBe(2);
});
