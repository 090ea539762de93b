import { toHex } from 'viem';
import { afterEach, describe, expect, test } from 'vitest';
import { freeGas } from '../../../../src/custody/treasury/gas-costs.ts';
import { houseWallet } from '../../../../src/custody/wallets/house-wallets.ts';
import { ProviderError } from '../../../../src/custody/wallets/provider.ts';
import { Problem } from '../../../../src/kernel/http/problem.ts';
import { createOnce } from '../../../../src/ledger/idempotency.ts';
import { amountOf } from '../../../../src/money/amount.ts';
import { swapFee } from '../../../../src/money/fees.ts';
import { type Market, MarketUnreachable } from '../../../../src/money/market.ts';
import { swapRoutes } from '../../../../src/payments/swaps/routes.ts';
import type { Swap } from '../../../../src/payments/swaps/swap.ts';
import type { SwapToken } from '../../../../src/payments/swaps/tokens.ts';
import { freeConsent } from '../../../support/consent.ts';
import type { User } from '../../../support/deposits.ts';
import { oneOfMany } from '../../../support/matrix.ts';
import { useSwapWorld } from '../../../support/swaps.ts';

const world = useSwapWorld();
const { chains, log } = world.deposits;
const { db } = world.deposits.database;

/** About 60 USDC of each. */
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

async function begin(from: SwapToken = 'USDC', to: SwapToken = 'ETH'): Promise<Begun> {
  const user = await world.newRich(amounts[from]);
  return { user, id: await world.open(user, amounts[from], to), from, to };
}

const netOf = (asset: SwapToken) => amounts[asset].atomic - swapFee(amounts[asset]).atomic;

async function expectNoDifference(when: string): Promise<void> {
  const differing = Object.entries(await world.differences()).filter(([, difference]) => difference !== '0');
  expect(differing, when).toEqual([]);
}

/** One step, whatever troubles it meets; reserves differ by nothing, before and after the chain is read. */
async function carefully(id: string): Promise<void> {
  const { status } = await world.look(id);
  await world.step(id).catch((error: unknown) => {
    if (!(error instanceof ProviderError) || !error.retryable) throw error;
  });
  await expectNoDifference(`after a step that was ${status}`);
  await world.read();
  await expectNoDifference(`when the chain was read after ${status}`);
}

/** It is swapped, once: everything is where it should be. */
async function expectSwapped({ user, id, from, to }: Begun, go = world.advance): Promise<Swap> {
  const swap = await world.goOn(id, 'completed', go);
  expect(await world.balance(user, from)).toBe(0n);
  expect(await world.balance(user, to)).toBe(swap.amountOut?.atomic);
  expect(await world.eventsOf(user)).toEqual(['swap.completed']);
  return swap;
}

/** Nothing was swapped, and its owner has the whole amount, the fee too. */
async function expectBack({ user, id, from, to }: Begun, go = world.advance): Promise<Swap> {
  const fees = await world.owed('fees', from);
  const swap = await world.goOn(id, 'failed', go);
  expect(await world.balance(user, from)).toBe(amounts[from].atomic);
  expect(await world.balance(user, to)).toBe(0n);
  expect(await world.eventsOf(user)).toEqual(['swap.failed']);
  expect(await world.owed('fees', from)).toBe(fees);
  expect(await world.allowance(from)).toBe(0n);
  return swap;
}

const stepsOf = async (id: string) => (await world.steps(id)).map(({ step, state }) => `${step} ${state}`);

async function setTank(atomic: bigint): Promise<void> {
  const { address } = await houseWallet(db, 'swaps', 'MATIC');
  await chains.rpc('MATIC', 'hardhat_setBalance', [address, toHex(atomic)]);
}

async function tank(): Promise<bigint> {
  const { address } = await houseWallet(db, 'swaps', 'MATIC');
  return chains.network('MATIC').client.getBalance({ address });
}

const fullTank = 10n ** 20n;

afterEach(() => world.forgetTricks());

describe('a wallet provider that refuses for good', () => {
  for (const [from, step, steps] of [
    ['USDC', 'fill', ['fill failed']],
    ['USDC', 'approve', ['fill confirmed', 'approve failed', 'return confirmed']],
    ['USDC', 'swap', ['fill confirmed', 'approve confirmed', 'swap failed', 'return confirmed', 'disallow confirmed']],
    ['MATIC', 'fill', ['fill failed']],
    ['MATIC', 'unwrap', ['fill confirmed', 'unwrap failed', 'return confirmed']],
    ['MATIC', 'swap', ['fill confirmed', 'unwrap confirmed', 'swap failed', 'wrap confirmed']],
  ] as const) {
    // A swap that is refused has the most to give back; that of MATIC is among the troubles below.
    const isRepresentative = from === 'USDC' && step === 'swap';
    test(`of ${from} the ${step}: the whole amount is back`, oneOfMany({ isRepresentative }), async () => {
      const inTreasury = await world.held('treasury', from);
      const begun = await begin(from, 'ETH');
      world.providerPlays(step, 'refuses');
      expect(await expectBack(begun, carefully)).toMatchObject({ error: 'It is not allowed.', txHash: null });
      expect(await stepsOf(begun.id)).toEqual(steps);
      expect(await world.held('treasury', from)).toBe(inTreasury + amounts[from].atomic);
    });
  }
});

describe('a wallet provider that does not hear, loses its answer, refuses and is asked twice', () => {
  const trouble = ['does_not_hear', 'loses_the_answer', 'refuses', 'is_asked_twice'] as const;

  /** Each step that was not refused has used one nonce. */
  async function expectOnce(id: string): Promise<void> {
    const confirmed = (await world.steps(id)).filter(({ state }) => state === 'confirmed');
    const { rows } = await db.query<{ nonce: string }>(
      'SELECT DISTINCT sender, nonce FROM key_transactions WHERE id = ANY ($1) AND nonce IS NOT NULL',
      [confirmed.map((one) => one.id)],
    );
    expect(rows).toHaveLength(confirmed.length);
  }

  for (const [from, step] of [
    ['DAI', 'fill'],
    ['DAI', 'approve'],
    ['DAI', 'swap'],
    ['MATIC', 'fill'],
    ['MATIC', 'unwrap'],
    ['MATIC', 'swap'],
  ] as const) {
    const isRepresentative = from === 'DAI' && step === 'swap';
    test(`swaps ${from} once when it is the ${step}`, oneOfMany({ isRepresentative }), async () => {
      const begun = await begin(from, 'USDC');
      const held = await world.held('treasury', 'USDC');
      world.providerPlays(step, ...trouble);
      const { amountOut } = await expectSwapped(begun, carefully);
      expect((await world.held('treasury', 'USDC')) - held).toBe(amountOut?.atomic);
      expect(await stepsOf(begun.id)).toEqual([
        'fill confirmed',
        from === 'MATIC' ? 'unwrap confirmed' : 'approve confirmed',
        'swap confirmed',
      ]);
      await expectOnce(begun.id);
    });
  }

  for (const [from, step] of [
    ['ETH', 'return'],
    ['ETH', 'disallow'],
    ['MATIC', 'wrap'],
  ] as const) {
    const isRepresentative = step === 'wrap';
    test(`gives ${from} back once when it is the ${step}`, oneOfMany({ isRepresentative }), async () => {
      const held = await world.held('treasury', from);
      const begun = await begin(from, 'USDC');
      world.providerPlays(step, ...trouble);
      world.providerPlays('swap', 'refuses');
      await expectBack(begun, carefully);
      expect(await world.held('treasury', from)).toBe(held + amounts[from].atomic);
      await expectOnce(begun.id);
    });
  }
});

describe('several at once', () => {
  /** All of them at the same time, as far as each goes, until they have ended. */
  async function together(ids: readonly string[]): Promise<void> {
    const runner = world.runnerOf();
    for (let round = 0; round < 25; round++) {
      const open = await Promise.all(ids.map(world.look));
      if (open.every(({ finishedAt, status }) => finishedAt !== null && status !== 'returning')) return;
      await Promise.all(ids.map((id) => runner.advance({ saga: 'swap', id })));
      await world.read();
    }
    throw new Error('they do not end');
  }

  test('one that fails takes back its own allowance and leaves the others theirs', async () => {
    const [one, two, three] = [await begin('USDC', 'ETH'), await begin('USDC', 'DAI'), await begin('USDC', 'MATIC')];
    const net = netOf('USDC');
    for (const { id } of [one, two, three]) await world.goOn(id, 'swapping', world.step);
    expect(await world.allowance('USDC')).toBe(3n * net);
    world.providerPlays('swap', 'refuses');
    await world.goOn(two.id, 'failed');
    expect(await world.allowance('USDC')).toBe(2n * net);
    expect(await world.held('swaps', 'USDC')).toBe(2n * net);
    await expectNoDifference('when one has failed');
    await expectSwapped(three);
    expect(await world.allowance('USDC')).toBe(net);
    await expectSwapped(one);
    await expectBack(two);
  });

  const everything =
    'all of everything at the same time, some of which fail: no nonce is used twice, and each ends as it should';
  test(everything, { tags: ['matrix'] }, async () => {
    const begun: Begun[] = [];
    for (const from of ['USDC', 'USDC', 'MATIC', 'MATIC', 'DAI', 'ETH'] as const)
      begun.push(await begin(from, from === 'USDC' ? 'MATIC' : 'USDC'));
    world.providerPlays('swap', 'refuses', 'refuses');
    await together(begun.map(({ id }) => id));
    const ended = await Promise.all(begun.map(({ id }) => world.look(id)));
    expect(ended.filter(({ status }) => status === 'failed')).toHaveLength(2);
    for (const [index, { status }] of ended.entries()) {
      const one = begun[index] as Begun;
      await (status === 'failed' ? expectBack(one) : expectSwapped(one));
    }
    const { rows } = await db.query(
      'SELECT sender, nonce FROM key_transactions WHERE nonce IS NOT NULL GROUP BY 1, 2 HAVING count(*) > 1',
    );
    expect(rows).toEqual([]);
  });
});

describe('two processes that take every step at the same time', () => {
  const processes = () => {
    const two = [world.runnerOf(), world.runnerOf()];
    return async (id: string) => {
      await Promise.all(two.map((one) => one.advance({ saga: 'swap', id })));
    };
  };

  for (const from of ['USDC', 'MATIC'] as const) {
    test(`swap ${from} once`, oneOfMany({ isRepresentative: from === 'USDC' }), async () => {
      const begun = await begin(from, 'DAI');
      const held = await world.held('treasury', 'DAI');
      const { amountOut } = await expectSwapped(begun, processes());
      expect((await world.held('treasury', 'DAI')) - held).toBe(amountOut?.atomic);
      expect((await stepsOf(begun.id)).filter((one) => !one.endsWith('confirmed'))).toEqual([]);
    });
  }

  for (const from of ['USDC', 'MATIC'] as const) {
    test(
      `give ${from} back once when the chain refuses the swap`,
      oneOfMany({ isRepresentative: from === 'MATIC' }),
      async () => {
        const begun = await begin(from, 'ETH');
        await world.goOn(begun.id, 'swapping', world.step);
        // Nobody pays so much: the contract itself refuses it.
        const greedy: Market = {
          ...world.market(),
          trade: (it) => world.market().trade({ ...it, atLeast: 10n ** 30n }),
        };
        const two = [world.runnerOf({ market: greedy }), world.runnerOf({ market: greedy })];
        await expectBack(begun, async (id) => {
          await Promise.all(two.map((one) => one.advance({ saga: 'swap', id })));
        });
        expect(log.lines('warn').filter(({ swap }) => swap === begun.id)).toHaveLength(1);
      },
    );
  }

  /** One decides while the other still asks the market. */
  async function decideBetween(id: string, { first, second }: Record<'first' | 'second', Market>): Promise<void> {
    const slow: Market = {
      ...second,
      async quote(wanted) {
        await world.runnerOf({ market: first }).advance({ saga: 'swap', id });
        return second.quote(wanted);
      },
    };
    await world.goOn(id, 'preparing', world.step);
    await world.step(id);
    await world.read();
    log.clear();
    await world.runnerOf({ market: slow }).advance({ saga: 'swap', id });
  }

  const poor = (): Market => ({ ...world.market(), quote: async () => undefined });

  for (const from of ['USDC', 'MATIC'] as const) {
    test(
      `swap ${from} if that is what the first has decided`,
      oneOfMany({ isRepresentative: from === 'MATIC' }),
      async () => {
        const begun = await begin(from, 'ETH');
        await decideBetween(begun.id, { first: world.market(), second: poor() });
        expect(await world.look(begun.id)).toMatchObject({ status: 'swapping', error: null });
        await expectSwapped(begun);
        expect(log.lines('warn')).toEqual([]);
      },
    );
  }

  for (const from of ['USDC', 'MATIC'] as const) {
    test(
      `give ${from} back if that is what the first has decided`,
      oneOfMany({ isRepresentative: from === 'USDC' }),
      async () => {
        const begun = await begin(from, 'ETH');
        await decideBetween(begun.id, { first: poor(), second: world.market() });
        expect(await world.look(begun.id)).toMatchObject({ status: 'returning', path: null });
        await expectBack(begun);
        expect((await stepsOf(begun.id)).filter((step) => step.startsWith('swap'))).toEqual([]);
      },
    );
  }
});

describe('an account that is frozen on the way is credited all the same', () => {
  const freeze = ({ id }: User) => db.query('UPDATE accounts SET frozen_at = now() WHERE id = $1', [id]);

  test('with what was bought', async () => {
    const begun = await begin();
    await world.goOn(begun.id, 'swapping', world.step);
    await freeze(begun.user);
    await expectSwapped(begun);
  });

  test('with what could not be swapped', { tags: ['matrix'] }, async () => {
    const begun = await begin('MATIC', 'USDC');
    await world.goOn(begun.id, 'swapping', world.step);
    await freeze(begun.user);
    world.providerPlays('swap', 'refuses');
    await expectBack(begun);
  });
});

describe('the gas tank of the wallet that swaps is empty', () => {
  /** It waits for coin, and for nothing else. */
  async function expectDry(id: string, status: Swap['status']): Promise<void> {
    for (let round = 0; round < 3; round++) {
      await world.advance(id);
      await world.read();
    }
    expect(await world.look(id)).toMatchObject({ status });
    expect(await world.waitsFor(id)).toMatch(/not have enough native coin for gas/);
    await expectNoDifference(`while the tank is dry and it is ${status}`);
  }

  for (const [from, status] of [
    ['USDC', 'preparing'],
    ['USDC', 'swapping'],
    ['MATIC', 'preparing'],
    ['MATIC', 'swapping'],
  ] as const) {
    test(
      `while ${from} is ${status}: it waits, and goes on when it is filled`,
      oneOfMany({ isRepresentative: from === 'MATIC' && status === 'swapping' }),
      async () => {
        const begun = await begin(from, 'ETH');
        await world.goOn(begun.id, status, world.step);
        // What was unwrapped is still there, and nobody's gas.
        const inHand = from === 'MATIC' && status === 'swapping' ? netOf('MATIC') : 0n;
        await setTank(inHand);
        await expectDry(begun.id, status);
        expect(await tank()).toBe(inHand);
        await setTank(inHand + fullTank);
        await expectSwapped(begun);
        expect(await tank()).toBeLessThan(fullTank);
        expect(await tank()).toBeGreaterThan((fullTank * 9n) / 10n);
      },
    );
  }

  for (const from of ['DAI', 'MATIC'] as const) {
    const isRepresentative = from === 'MATIC';
    test(
      `while ${from} is returned: it waits, and goes on when it is filled`,
      oneOfMany({ isRepresentative }),
      async () => {
        const begun = await begin(from, 'USDC');
        await world.goOn(begun.id, 'swapping', world.step);
        world.providerPlays('swap', 'refuses');
        await world.step(begun.id);
        expect(await world.balance(begun.user, from)).toBe(amounts[from].atomic);
        const inHand = from === 'MATIC' ? netOf('MATIC') : 0n;
        await setTank(inHand);
        await expectDry(begun.id, 'returning');
        await setTank(inHand + fullTank);
        await expectBack(begun);
        expect(await tank()).toBeLessThan(fullTank);
      },
    );
  }

  test('and what somebody has unwrapped pays for the gas of others: it waits, and nothing of it is lost', {
    tags: ['matrix'],
  }, async () => {
    const [coin, other] = [await begin('MATIC', 'USDC'), await begin('DAI', 'USDC')];
    await world.goOn(coin.id, 'swapping', world.step);
    await world.goOn(other.id, 'preparing', world.step);
    await setTank(netOf('MATIC'));
    await expectSwapped(other);
    expect(await tank()).toBeLessThan(netOf('MATIC'));
    await expectDry(coin.id, 'swapping');
    await setTank((await tank()) + fullTank);
    await expectSwapped(coin);
  });
});

describe('the market is unreachable', () => {
  const silent: Market = {
    get spender() {
      return world.market().spender;
    },
    quote: () => Promise.reject(new MarketUnreachable('the chain does not answer')),
    worth: () => Promise.reject(new MarketUnreachable('the chain does not answer')),
    trade: (trade) => world.market().trade(trade),
    readWay: (data) => world.market().readWay(data),
  };

  for (const from of ['USDC', 'MATIC'] as const) {
    test(
      `while ${from} is prepared: it waits, and goes on afterwards`,
      oneOfMany({ isRepresentative: from === 'USDC' }),
      async () => {
        const begun = await begin(from, 'ETH');
        await world.goOn(begun.id, 'preparing', world.step);
        const runner = world.runnerOf({ market: silent });
        for (let round = 0; round < 3; round++) {
          await runner.advance({ saga: 'swap', id: begun.id });
          await world.read();
          await expectNoDifference('while the market is silent');
        }
        expect(await world.look(begun.id)).toMatchObject({ status: 'preparing' });
        expect(await world.waitsFor(begun.id)).toMatch(/does not answer/);
        await expectSwapped(begun);
      },
    );
  }

  test('when a swap is asked for: 503 with Retry-After, and nothing is written', async () => {
    const user = await world.newRich(amounts.USDC);
    const { ledger } = world.deposits;
    const routes = swapRoutes({
      db,
      readDb: db,
      ledger,
      once: createOnce(db),
      market: silent,
      gasCosts: freeGas,
      silentChains: async () => [],
      consent: freeConsent,
    });
    const caller = { accountId: user.id, keyId: 'none' };
    const asked = { from: 'USDC', to: 'ETH', amount: '60' };
    const count = async () => (await db.query('SELECT FROM swaps')).rows.length;
    const before = await count();
    for (const [path, request] of [
      ['/swap/execute', { caller, body: asked }],
      ['/swap/quote', { caller, query: asked }],
    ] as const) {
      const route = routes.find(({ spec }) => spec.path === path);
      const refused = await route?.handle(request).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(Problem);
      expect(refused).toMatchObject({ status: 503, extras: { headers: { 'Retry-After': '5' } } });
    }
    expect(await count()).toBe(before);
    expect(await world.balance(user, 'USDC')).toBe(amounts.USDC.atomic);
  });
});

test('after all this, nothing is under way or left over anywhere', async () => {
  await world.checkAtRest();
  for (const asset of ['USDC', 'ETH', 'DAI'] as const) expect(await world.allowance(asset)).toBe(0n);
  const { rows } = await db.query('SELECT FROM chain_step_arrivals WHERE arrived_at IS NULL AND ended_at IS NULL');
  expect(rows, 'what is still expected').toEqual([]);
});

// The last ones, because tokens stay where they are.
describe('tokens that strangers send meanwhile', () => {
  for (const [from, to] of [
    ['USDC', 'DAI'],
    ['MATIC', 'DAI'],
  ] as const) {
    test(
      `while ${from} is swapped are surplus, and nobody is credited`,
      oneOfMany({ isRepresentative: from === 'USDC' }),
      async () => {
        const surplus = { sold: await world.owed('surplus', from), bought: await world.owed('surplus', to) };
        const begun = await begin(from, to);
        const { address: swapper } = await houseWallet(db, 'swaps', 'MATIC');
        const { address: treasury } = await houseWallet(db, 'treasury', 'MATIC');
        const sold = from === 'MATIC' ? 'WMATIC' : from;
        const stranger = await chains.outsider({
          tokens: [
            { asset: sold, atomic: 1_000n },
            { asset: to, atomic: 1_000n },
          ],
        });
        const send = (asset: typeof sold | typeof to, where: typeof swapper, atomic: bigint) =>
          stranger.sendToken({ asset, to: where, atomic });
        await send(sold, swapper, 1n);
        for (const status of ['preparing', 'swapping'] as const) {
          await world.goOn(begun.id, status, carefully);
          await send(sold, swapper, 10n);
          await send(to, treasury, 10n);
          await world.read();
          await expectNoDifference(`with dust while it is ${status}`);
        }
        // It is asked for, and what it brings is not told apart yet from what comes in the next block.
        await world.step(begun.id);
        await send(to, treasury, 100n);
        await send(sold, treasury, 100n);
        await world.read();
        await expectNoDifference('with dust while it is swapped');
        const held = await world.held('treasury', to);
        const { amountOut, unspent } = await expectSwapped(begun);
        expect(unspent.atomic).toBe(0n);
        expect(await world.held('treasury', to)).toBe(held);
        await world.read();
        await expectNoDifference('with dust in the end');
        expect((await world.owed('surplus', from)) - surplus.sold).toBe(121n);
        expect((await world.owed('surplus', to)) - surplus.bought).toBe(120n);
        expect(amountOut?.atomic).toBeGreaterThan(10n ** 18n);
        expect(await world.owed('receivables', to)).toBe(0n);
      },
    );
  }
});

describe('tokens that somebody has left with the router', () => {
  const leave = async (asset: 'USDC' | 'WMATIC', atomic: bigint) => {
    const stranger = await chains.outsider({ tokens: [{ asset, atomic }] });
    await stranger.sendToken({ asset, to: world.market().spender, atomic });
  };

  for (const [from, asset, atomic] of [
    ['USDC', 'USDC', 1_000_000n],
    ['MATIC', 'WMATIC', 10n ** 18n],
  ] as const) {
    test(`are sold along with ${from}, for its owner`, oneOfMany({ isRepresentative: from === 'USDC' }), async () => {
      const begun = await begin(from, 'ETH');
      await world.goOn(begun.id, 'swapping', world.step);
      await leave(asset, atomic);
      const { amountOut, quoted, unspent } = await expectSwapped(begun, carefully);
      expect(amountOut?.atomic).toBeGreaterThan(quoted.atomic);
      expect(unspent.atomic).toBe(0n);
    });
  }

  test('are surplus when MATIC is wrapped again', { tags: ['matrix'] }, async () => {
    const surplus = await world.owed('surplus', 'MATIC');
    const begun = await begin('MATIC', 'ETH');
    await world.goOn(begun.id, 'swapping', world.step);
    await leave('WMATIC', 7n);
    world.providerPlays('swap', 'refuses');
    await expectBack(begun, carefully);
    expect(await world.owed('unwrapped_in_transit', 'MATIC')).toBe(0n);
    expect((await world.owed('surplus', 'MATIC')) - surplus).toBe(7n);
  });
});

test('MATIC that nobody wraps is wrapped anew, under another key, until it is in the treasury', {
  tags: ['matrix'],
}, async () => {
  const held = await world.held('treasury', 'MATIC');
  const begun = await begin('MATIC', 'USDC');
  world.providerPlays('swap', 'refuses');
  world.providerPlays('wrap', 'refuses');
  await world.goOn(begun.id, 'returning', carefully);
  await world.advance(begun.id);
  expect(await world.waitsFor(begun.id)).toMatch(/to be wrapped: It is not allowed/);
  expect(await world.balance(begun.user, 'MATIC')).toBe(amounts.MATIC.atomic);
  await expectBack(begun, carefully);
  expect((await stepsOf(begun.id)).slice(-2)).toEqual(['wrap failed', 'wrap_2 confirmed']);
  expect(await world.owed('unwrapped_in_transit', 'MATIC')).toBe(0n);
  expect((await world.held('treasury', 'MATIC')) - held).toBe(amounts.MATIC.atomic);
});

test('ETH that is refused on its way back is sent again, under another key, until it is in the treasury', async () => {
  const held = await world.held('swaps', 'ETH');
  const begun = await begin('ETH', 'USDC');
  world.providerPlays('swap', 'refuses');
  world.providerPlays('return', 'refuses');
  await world.goOn(begun.id, 'returning', carefully);
  for (let round = 0; round < 5 && !(await stepsOf(begun.id)).includes('return failed'); round++) {
    await world.advance(begun.id);
    await world.read();
  }
  expect(await world.waitsFor(begun.id)).toBe('its tokens to go back to the treasury: It is not allowed.');
  expect(await world.balance(begun.user, 'ETH')).toBe(amounts.ETH.atomic);
  expect(await world.held('swaps', 'ETH')).toBe(held + netOf('ETH'));
  await world.goOn(begun.id, 'failed', carefully);
  expect(await stepsOf(begun.id)).toContain('return_2 confirmed');
  expect(await world.held('swaps', 'ETH')).toBe(held);
  expect(await world.allowance('ETH')).toBe(0n);
});

test('an allowance that cannot be taken back is told to a person, and its owner has the money all the same', {
  tags: ['matrix'],
}, async () => {
  const begun = await begin('ETH', 'USDC');
  log.clear();
  world.providerPlays('swap', 'refuses');
  world.providerPlays('disallow', ...Array(10).fill('refuses'));
  await world.goOn(begun.id, 'failed', carefully);
  expect(await world.balance(begun.user, 'ETH')).toBe(amounts.ETH.atomic);
  expect(await stepsOf(begun.id)).toContain('disallow failed');
  expect(await world.allowance('ETH')).toBe(netOf('ETH'));
  expect(log.lines('error').map((line) => line['step'])).toEqual(['disallow']);
  world.forgetTricks();
});
