import { toHex } from 'viem';
import { beforeAll, expect } from 'vitest';
import { allowanceAbi, tokenAbi } from '../../src/chains/abi.ts';
import { tokenOf } from '../../src/chains/network.ts';
import { reconcile } from '../../src/custody/reserves/reconcile.ts';
import { reportReserves } from '../../src/custody/reserves/report.ts';
import { listSteps } from '../../src/custody/steps/chain-step.ts';
import { freeGas, type GasCosts } from '../../src/custody/treasury/gas-costs.ts';
import { type HousePurpose, houseWallet } from '../../src/custody/wallets/house-wallets.ts';
import { listOpenSagas } from '../../src/kernel/sagas/list-sagas.ts';
import { createSagaRunner, type SagaRunner } from '../../src/kernel/sagas/run-saga.ts';
import { type HouseKind, houseAccount, userAccount } from '../../src/ledger/account-id.ts';
import { houseBalance } from '../../src/ledger/balances.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { type Amount, amountOf } from '../../src/money/amount.ts';
import type { Market } from '../../src/money/market.ts';
import type { ChainReader } from '../../src/payments/deposits/read-chain.ts';
import { createUniswapMarket } from '../../src/payments/swaps/adapters/uniswap/uniswap-market.ts';
import { swapHandler } from '../../src/payments/swaps/advance-swap.ts';
import { openSwap } from '../../src/payments/swaps/open-swap.ts';
import type { SwapParts } from '../../src/payments/swaps/parts.ts';
import { quoteSwap } from '../../src/payments/swaps/quote-swap.ts';
import { swapSaga } from '../../src/payments/swaps/saga.ts';
import { findSwap, type Swap } from '../../src/payments/swaps/swap.ts';
import { type SwapToken, swapTokens } from '../../src/payments/swaps/tokens.ts';
import type { ChainsOptions } from './chains.ts';
import { type DepositWorld, readUp, type User, useDepositWorld } from './deposits.ts';
import { createTricks } from './tricks.ts';

interface Opening {
  readonly validSeconds?: number;
  readonly gasCosts?: GasCosts;
  /** Instead of what a quote says. */
  readonly poolGas?: bigint;
}

/** Swaps on Polygon that go on only when they are told to. Its functions may be called from the first test on. */
export function useSwapWorld(options: ChainsOptions = {}) {
  const world: DepositWorld = useDepositWorld({ pollMs: 10, ...options });
  const { chains } = world;
  const { db } = world.database;
  const tricks = createTricks(db);
  let reader: ChainReader | undefined;
  let opened: Market | undefined;
  const market = () => {
    opened ??= createUniswapMarket(chains.networks);
    return opened;
  };

  function parts(changed: Partial<SwapParts> = {}): SwapParts {
    const { ledger, log, provider } = world;
    return {
      db,
      ledger,
      provider: tricks.on(provider),
      networks: chains.networks,
      market: market(),
      logger: log.logger,
      ...changed,
    };
  }

  beforeAll(async () => {
    await fillTanks();
    reader = world.reader('MATIC', { leaseMs: 600_000 });
    await read();
  });

  /** Native coin for every house wallet that pays for gas. */
  async function fillTanks(): Promise<void> {
    for (const purpose of ['treasury', 'swaps'] as const) {
      const { address } = await houseWallet(db, purpose, 'MATIC');
      await chains.rpc('MATIC', 'hardhat_setBalance', [address, toHex(10n ** 20n)]);
    }
  }

  /** Reads Polygon as far as it goes. */
  async function read(): Promise<void> {
    if (reader !== undefined) await readUp(reader);
  }

  async function look(id: string): Promise<Swap> {
    const swap = await findSwap(db, id);
    if (swap === undefined) throw new Error(`there is no swap ${id}`);
    return swap;
  }

  let runner: SagaRunner | undefined;
  const runnerOf = (changed?: Partial<SwapParts>) => {
    const { log } = world;
    return createSagaRunner({ db, logger: log.logger, handlers: [swapHandler(parts(changed))] });
  };

  /** One process takes it as far as it goes now. */
  async function advance(id: string): Promise<void> {
    runner ??= runnerOf();
    await runner.advance({ saga: swapSaga.name, id });
  }

  /** One step of it and no more, as a process takes it that is ended right after. */
  async function step(id: string): Promise<void> {
    const { steps } = swapHandler(parts());
    const swap = await look(id);
    await steps[swap.status]?.(swap);
  }

  const waitsFor = async (id: string) => (await listOpenSagas(db, [swapSaga], { id }))[0]?.waitsFor;

  /** Lets it go on, and reads the chain, until it is where it should be. */
  async function goOn(id: string, until: Swap['status'], go = advance): Promise<Swap> {
    for (let round = 0; round < 25; round++) {
      const swap = await look(id);
      if (swap.status === until) return swap;
      await go(id);
      await read();
    }
    const { status, error } = await look(id);
    throw new Error(`it is ${status} (${error}) and not ${until}: it waits for ${await waitsFor(id)}`);
  }

  const owed = async (kind: HouseKind, asset: SwapToken) => (await houseBalance(db, kind, asset, 'MATIC')).atomic;

  /** What reserves differ by on Polygon, in every asset that is held there. */
  async function differences(): Promise<Record<string, string | null>> {
    const { log } = world;
    const networks = new Map([['MATIC', chains.network('MATIC')] as const]);
    const { reserves } = await reportReserves({ db, networks, logger: log.logger, chainTimeoutMs: 30_000 });
    return Object.fromEntries(reserves.map(({ asset, difference }) => [asset, difference]));
  }

  function tokenAddress(asset: SwapToken) {
    const token = tokenOf(chains.network('MATIC'), asset);
    if (token === undefined) throw new Error(`there is no ${asset}`);
    return token.address;
  }

  /** What a wallet of the house holds of a token; native coin does not count. */
  async function held(purpose: HousePurpose, asset: SwapToken): Promise<bigint> {
    const { address } = await houseWallet(db, purpose, 'MATIC');
    return chains.network('MATIC').client.readContract({
      address: tokenAddress(asset),
      abi: tokenAbi,
      functionName: 'balanceOf',
      args: [address],
    });
  }

  return {
    deposits: world,
    market,
    parts,
    runnerOf,
    advance,
    step,
    look,
    goOn,
    read,
    fillTanks,
    waitsFor,
    owed,
    held,
    differences,
    steps: (id: string) => listSteps(db, id),
    balance: (user: User, asset: SwapToken) => world.balance(user, asset, 'MATIC'),
    providerPlays: tricks.play,
    forgetTricks: tricks.forget,

    /** Somebody with so much of everything, which is in the treasury. */
    async newRich(...amounts: readonly Amount[]): Promise<User> {
      const { ledger } = world;
      const user = await world.newUser();
      await db.query(
        "INSERT INTO ledger.event_subscriptions (account_id, type) VALUES ($1, 'swap.completed'), ($1, 'swap.failed')",
        [user.id],
      );
      const { address } = await houseWallet(db, 'treasury', 'MATIC');
      for (const { asset, atomic } of amounts) {
        await chains.faucet.mint({
          id: `${user.id}/${asset}`,
          chain: 'MATIC',
          asset: asset === 'MATIC' ? 'WMATIC' : asset,
          to: address,
          atomic,
        });
      }
      await read();
      for (const { asset, atomic } of amounts) {
        const { outcome } = await ledger.post({
          type: 'gift',
          amount: amountOf(asset, atomic),
          entries: [
            { account: houseAccount('surplus', asset), atomic: -atomic },
            { account: userAccount(user.id, asset), atomic },
          ],
        });
        expect(outcome).toBe('posted');
      }
      return user;
    },

    /** Takes it from the balance; nothing is asked of anybody but the market. */
    async open(
      user: User,
      amount: Amount,
      to: SwapToken,
      { validSeconds = 1_200, gasCosts = freeGas, ...agreed }: Opening = {},
    ): Promise<string> {
      const { ledger } = world;
      const terms = await quoteSwap({ market: market(), gasCosts }, amount, to);
      return db.transaction(async (tx) => {
        const { id, outcome } = await openSwap(tx, ledger, { ...terms, ...agreed, accountId: user.id, validSeconds });
        expect(outcome).toBe('posted');
        return id;
      });
    },

    /** What the router may take from the wallet that swaps. */
    async allowance(asset: SwapToken): Promise<bigint> {
      const { address } = await houseWallet(db, 'swaps', 'MATIC');
      return chains.network('MATIC').client.readContract({
        address: tokenAddress(asset),
        abi: allowanceAbi,
        functionName: 'allowance',
        args: [address, market().spender],
      });
    },

    /** What became of somebody's swaps, in the names of events. */
    async eventsOf({ id }: User): Promise<string[]> {
      const { rows } = await db.query<{ type: string }>(
        'SELECT type FROM ledger.events WHERE account_id = $1 ORDER BY id',
        [id],
      );
      return rows.map(({ type }) => type);
    },

    /** Nothing is under way and every book agrees with every other and with the chain. */
    async checkAtRest(): Promise<void> {
      await read();
      for (const asset of swapTokens) {
        expect(await owed('receivables', asset), `receivables in ${asset}`).toBe(0n);
        expect(await owed('swaps_in_transit', asset), `in transit in ${asset}`).toBe(0n);
        expect(await owed('unwrapped_in_transit', asset), `unwrapped in ${asset}`).toBe(0n);
        expect(await held('swaps', asset), `${asset} in the wallet that swaps`).toBe(0n);
      }
      expect(Object.entries(await differences()).filter(([, difference]) => difference !== '0')).toEqual([]);
      expect((await verifyLedger(db)).problems).toEqual([]);
      const networks = new Map([['MATIC', chains.network('MATIC')] as const]);
      expect(await reconcile({ db, networks, sagas: [swapSaga] })).toEqual([]);
    },
  };
}
