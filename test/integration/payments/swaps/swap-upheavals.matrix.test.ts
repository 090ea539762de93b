import type { Hex } from 'viem';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createNetworks, type Networks } from '../../../../src/chains/network.ts';
import { createKeysProvider } from '../../../../src/custody/adapters/keys/keys-provider.ts';
import { openSeeds } from '../../../../src/custody/adapters/keys/seeds.ts';
import { houseMoveHandler } from '../../../../src/custody/treasury/house-move.ts';
import { beginMoves } from '../../../../src/custody/treasury/move-retired.ts';
import { rotateSeed } from '../../../../src/custody/treasury/rotate-seed.ts';
import { createSagaRunner } from '../../../../src/kernel/sagas/run-saga.ts';
import { createSecrets } from '../../../../src/kernel/secrets/secrets.ts';
import { amountOf } from '../../../../src/money/amount.ts';
import type { SwapToken } from '../../../../src/payments/swaps/tokens.ts';
import type { User } from '../../../support/deposits.ts';
import { isMatrix, oneOfMany } from '../../../support/matrix.ts';
import { useSwapWorld } from '../../../support/swaps.ts';
import { poolOf, useMarket } from '../../../support/uniswap.ts';

const world = useSwapWorld();
const { chains, log } = world.deposits;
const { db } = world.deposits.database;
const market = useMarket(chains);
const secrets = createSecrets('s'.repeat(32));

const amounts = {
  USDC: amountOf('USDC', 60_000_000n),
  ETH: amountOf('ETH', 2n * 10n ** 16n),
  MATIC: amountOf('MATIC', 120n * 10n ** 18n),
  DAI: amountOf('DAI', 60n * 10n ** 18n),
} as const;

interface Begun {
  readonly user: User;
  readonly id: string;
  readonly from: SwapToken;
  readonly to: SwapToken;
}

async function begin(from: SwapToken, to: SwapToken): Promise<Begun> {
  const user = await world.newRich(amounts[from]);
  return { user, id: await world.open(user, amounts[from], to), from, to };
}

async function expectNoDifference(when: string): Promise<void> {
  const differing = Object.entries(await world.differences()).filter(([, difference]) => difference !== '0');
  expect(differing, when).toEqual([]);
}

async function expectSwapped({ user, id, from, to }: Begun, go = world.advance): Promise<void> {
  const { amountOut } = await world.goOn(id, 'completed', go);
  expect(await world.balance(user, from)).toBe(0n);
  expect(await world.balance(user, to)).toBe(amountOut?.atomic);
  expect(await world.eventsOf(user)).toEqual(['swap.completed']);
}

async function expectBack({ user, id, from, to }: Begun, go = world.advance): Promise<void> {
  await world.goOn(id, 'failed', go);
  expect(await world.balance(user, from)).toBe(amounts[from].atomic);
  expect(await world.balance(user, to)).toBe(0n);
  expect(await world.eventsOf(user)).toEqual(['swap.failed']);
}

beforeAll(() => market.restMarketMaker());

afterEach(async () => {
  await world.checkAtRest();
  for (const asset of ['USDC', 'ETH', 'DAI'] as const) expect(await world.allowance(asset)).toBe(0n);
});

describe('a reorganisation', () => {
  /** Goes on until everything is prepared, and nothing of the swap was asked for. */
  async function prepared(from: SwapToken, to: SwapToken): Promise<Begun & { readonly before: Hex }> {
    const begun = await begin(from, to);
    await world.goOn(begun.id, 'swapping', world.step);
    return { ...begun, before: await chains.rpc<Hex>('MATIC', 'evm_snapshot') };
  }

  /** Undoes everything since then; what comes now has other blocks. */
  async function turnBack(before: Hex): Promise<void> {
    expect(await chains.rpc('MATIC', 'evm_revert', [before])).toBe(true);
    await chains.rpc('MATIC', 'evm_increaseTime', [7]);
  }

  /** Looks after every step, before and after the chain is read. */
  async function carefully(id: string): Promise<void> {
    const { status } = await world.look(id);
    await world.step(id);
    await expectNoDifference(`after a step that was ${status}`);
    await world.read();
    await expectNoDifference(`when the chain was read after ${status}`);
  }

  for (const [from, to] of [
    ['USDC', 'ETH'],
    ['MATIC', 'USDC'],
  ] as const) {
    test(
      `before the swap of ${from} is final: it is sent again`,
      oneOfMany({ isRepresentative: from === 'USDC' }),
      async () => {
        const { before, ...begun } = await prepared(from, to);
        const settings = [...chains.local.settings].map(
          ([id, given]) => [id, { ...given, pollMs: 10, confirmations: 3 }] as const,
        );
        const networks: Networks = createNetworks(new Map(settings));
        const provider = await createKeysProvider({ db, networks, logger: log.logger, secrets });
        const patient = world.runnerOf({ provider });
        await patient.advance({ saga: 'swap', id: begun.id });
        expect(await world.waitsFor(begun.id)).toMatch(/not final yet/);
        await turnBack(before);
        await chains.mine('MATIC');
        await world.read();
        await expectNoDifference('when it was undone');
        await patient.advance({ saga: 'swap', id: begun.id });
        await chains.mine('MATIC', 2);
        await expectSwapped(begun, carefully);
      },
    );
  }

  for (const [from, to] of [
    ['USDC', 'ETH'],
    ['MATIC', 'USDC'],
  ] as const) {
    test(
      `after the swap of ${from} was called final, and before it is in the books: it is sent again`,
      oneOfMany({ isRepresentative: from === 'MATIC' }),
      async () => {
        const { before, ...begun } = await prepared(from, to);
        await world.step(begun.id);
        const swap = (await world.steps(begun.id)).at(-1);
        expect(await world.deposits.provider.lookUp('MATIC', swap?.providerRef ?? '')).toMatchObject({
          state: 'confirmed',
        });
        await turnBack(before);
        await chains.mine('MATIC', 5);
        await world.read();
        await expectNoDifference('when it was undone');
        // It is in another block now, which nobody has read.
        await world.step(begun.id);
        await world.step(begun.id);
        await expectNoDifference('when it is there again');
        expect(await world.look(begun.id)).toMatchObject({ status: 'swapping' });
        await expectSwapped(begun, carefully);
      },
    );
  }

  for (const [from, to, perMille] of [
    ['USDC', 'MATIC', 20],
    ['MATIC', 'USDC', -20],
  ] as const) {
    test(
      `after the swap of ${from} was called final, and for ${to} the price is another now: all is back`,
      oneOfMany({ isRepresentative: from === 'USDC' }),
      async () => {
        const { before, ...begun } = await prepared(from, to);
        await world.step(begun.id);
        await turnBack(before);
        await market.movePrice({ asset: 'MATIC', pool: poolOf('USDC', 'MATIC'), perMille });
        await chains.mine('MATIC', 5);
        await world.read();
        await expectBack(begun, carefully);
        expect((await world.look(begun.id)).error).toMatch(/The price moved/);
        await market.movePrice({ asset: 'MATIC', pool: poolOf('USDC', 'MATIC'), perMille: 0 });
      },
    );
  }
});

describe('a rotation of the seed', { tags: ['matrix'] }, () => {
  async function rotate(): Promise<void> {
    const { provider } = world.deposits;
    const seedRotation = await openSeeds(db, secrets);
    await rotateSeed({ db, provider, seedRotation }, { backedUp: await seedRotation.prepare() });
    await world.fillTanks();
  }

  /** What the old wallets hold goes to the new ones, as the service sees to every minute. */
  async function moveRetired(): Promise<void> {
    const { provider, ledger } = world.deposits;
    const { networks } = chains;
    await beginMoves({ db, networks: new Map([['MATIC', chains.network('MATIC')]]), logger: log.logger });
    const sagas = createSagaRunner({
      db,
      logger: log.logger,
      handlers: [houseMoveHandler({ db, ledger, networks, provider })],
    });
    const { rows } = await db.query<{ id: string }>('SELECT id FROM house_moves WHERE finished_at IS NULL');
    for (const { id } of rows) await sagas.advance({ saga: 'house_move', id });
    await world.read();
    for (const { id } of rows) await sagas.advance({ saga: 'house_move', id });
  }

  test('in the middle of swaps, wherever they are: each ends as it would have', async () => {
    const [swapped, failed]: [string[], string[]] = [[], []];
    // What the treasury has sent counts as promised until it is in the books: without more, the next one would wait.
    const both = ['USDC', 'MATIC'] as const;
    const sold: readonly (typeof both)[number][] = isMatrix ? both : ['MATIC'];
    // Each is somebody else's: of one account only a few are under way at once.
    const users: User[] = [];
    for (let count = 4 * sold.length + 1; count > 0; count--)
      users.push(await world.newRich(...both.map((asset) => amountOf(asset, 10n * amounts[asset].atomic))));
    const waiting = users.values();
    const open = (from: (typeof both)[number]) => {
      const { value: user } = waiting.next();
      if (user === undefined) throw new Error('there are not enough people');
      return world.open(user, amounts[from], 'ETH');
    };
    const left = async (asset: 'USDC' | 'MATIC' | 'ETH') =>
      (await Promise.all(users.map((user) => world.balance(user, asset)))).reduce((sum, atomic) => sum + atomic, 0n);
    for (const from of sold) {
      for (const status of ['queued', 'preparing', 'swapping', 'returning'] as const) {
        const id = await open(from);
        if (status === 'returning') world.providerPlays('swap', 'refuses');
        await world.goOn(id, status, world.step);
        // What this state asks for is sent, and not in the books yet.
        await world.step(id);
        (status === 'returning' ? failed : swapped).push(id);
      }
    }
    // And one that has asked for nothing yet: whoever comes behind it in the line would wait for it.
    const untouched = await open('USDC');
    await rotate();
    await moveRetired();
    await expectNoDifference('when the seed was rotated');
    for (const id of swapped) await world.goOn(id, 'completed');
    for (const id of failed) await world.goOn(id, 'failed');
    // Now that the old wallets have nothing under way, what they hold goes to the new ones.
    await moveRetired();
    await expectNoDifference('when everything has moved');
    const ended = await Promise.all([...swapped, untouched].map((id) => world.goOn(id, 'completed')));
    await moveRetired();
    const given = 10n * BigInt(users.length);
    expect(await left('USDC')).toBe((given - (sold.includes('USDC') ? 4n : 1n)) * amounts.USDC.atomic);
    expect(await left('MATIC')).toBe((given - 3n) * amounts.MATIC.atomic);
    expect(await left('ETH')).toBe(ended.reduce((sum, { amountOut }) => sum + (amountOut?.atomic ?? 0n), 0n));
    const { rows } = await db.query<{ address: Hex }>(
      "SELECT address FROM house_wallets WHERE chain = 'MATIC' AND retired_at IS NOT NULL",
    );
    for (const { address } of rows)
      for (const asset of ['USDC', 'ETH', 'WMATIC', 'DAI'] as const)
        expect(await chains.balanceOf('MATIC', asset, address), asset).toBe(0n);
  });
});
