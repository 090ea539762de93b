import { expect } from 'vitest';
import { tokenAbi } from '../../src/chains/abi.ts';
import { freeGas, type GasCosts } from '../../src/custody/treasury/gas-costs.ts';
import { type HousePurpose, houseWallet } from '../../src/custody/wallets/house-wallets.ts';
import type { HouseKind } from '../../src/ledger/account-id.ts';
import type { Amount } from '../../src/money/amount.ts';
import type { Market } from '../../src/money/market.ts';
import { createUniswapMarket } from '../../src/payments/swaps/adapters/uniswap/uniswap-market.ts';
import { swapHandler } from '../../src/payments/swaps/feature.ts';
import { openSwap } from '../../src/payments/swaps/open-swap.ts';
import { type SwapParts, tokenAddress } from '../../src/payments/swaps/parts.ts';
import { quoteSwap } from '../../src/payments/swaps/quote-swap.ts';
import { type SwapStatus, swapSaga } from '../../src/payments/swaps/saga.ts';
import { findSwap, type Swap } from '../../src/payments/swaps/swap.ts';
import { type SwapToken, swapTokens } from '../../src/payments/swaps/tokens.ts';
import type { ChainsOptions } from './chains.ts';
import type { DepositWorld, User } from './deposits.ts';
import { useSagaWorld } from './saga-world.ts';

interface Opening {
  readonly validSeconds?: number;
  readonly gasCosts?: GasCosts;
  /** Instead of what a quote says. */
  readonly poolGas?: bigint;
}

/** Swaps on Polygon. */
export function useSwapWorld(options: ChainsOptions = {}) {
  let opened: Market | undefined;
  const marketOf = ({ chains }: DepositWorld) => {
    opened ??= createUniswapMarket(chains.networks);
    return opened;
  };
  const world = useSagaWorld<SwapStatus, Swap, SwapParts>(
    {
      saga: swapSaga,
      chains: ['MATIC'],
      purpose: 'swaps',
      events: ['swap.completed', 'swap.failed'],
      find: findSwap,
      handler: swapHandler,
      parts: (deposits) => ({ market: marketOf(deposits) }),
      spender: (deposits) => marketOf(deposits).spender,
    },
    options,
  );
  const { deposits } = world;
  const { chains } = deposits;
  const { db } = deposits.database;
  const market = () => marketOf(deposits);

  /** What a wallet of the house holds of a token; native coin does not count. */
  async function held(purpose: HousePurpose, asset: SwapToken): Promise<bigint> {
    const { address } = await houseWallet(db, purpose, 'MATIC');
    return chains.network('MATIC').client.readContract({
      address: tokenAddress(chains.networks, asset),
      abi: tokenAbi,
      functionName: 'balanceOf',
      args: [address],
    });
  }

  return {
    ...world,
    market,
    held,
    owed: (kind: HouseKind, asset: SwapToken) => world.owedIn(kind, asset, 'MATIC'),
    balance: (user: User, asset: SwapToken) => deposits.balance(user, asset, 'MATIC'),
    allowance: (asset: SwapToken) => world.allowanceOn('MATIC', asset),

    /** How much the reserves of each asset differ on Polygon. */
    async differences(): Promise<Record<string, string | null>> {
      return Object.fromEntries((await world.reserves()).map(({ asset, difference }) => [asset, difference]));
    },

    /** An account with these amounts, which are in the treasury. */
    newRich: (...amounts: readonly Amount[]): Promise<User> =>
      world.newRichOn('MATIC', amounts, async (to, user) => {
        for (const { asset, atomic } of amounts) {
          const token = asset === 'MATIC' ? 'WMATIC' : asset;
          await chains.faucet.mint({ id: `${user.id}/${asset}`, chain: 'MATIC', asset: token, to, atomic });
        }
      }),

    /** Takes it from the balance; nothing is asked of anybody but the market. */
    async open(
      user: User,
      amount: Amount,
      to: SwapToken,
      { validSeconds = 1_200, gasCosts = freeGas, ...agreed }: Opening = {},
    ): Promise<string> {
      const terms = await quoteSwap({ market: market(), gasCosts }, amount, to);
      return db.transaction(async (tx) => {
        const swap = { ...terms, ...agreed, accountId: user.id, validSeconds };
        const { id, outcome } = await openSwap(tx, deposits.ledger, swap);
        expect(outcome.outcome).toBe('posted');
        return id;
      });
    },

    async checkAtRest(): Promise<void> {
      await world.expectAtRest(['receivables', 'swaps_in_transit', 'unwrapped_in_transit'], swapTokens);
      for (const asset of swapTokens) expect(await held('swaps', asset), `${asset} in the wallet that swaps`).toBe(0n);
    },
  };
}
