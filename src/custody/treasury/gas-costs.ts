import { BaseError, ContractFunctionZeroDataError, type Hex, parseAbi } from 'viem';
import { smaller } from '../../chains/gas-fee-ceiling.ts';
import type { Network, Networks } from '../../chains/network.ts';
import type { Clock } from '../../kernel/clock.ts';
import { httpErrors } from '../../kernel/http/errors.ts';
import { Problem } from '../../kernel/http/problem.ts';
import { type SettingRow, wholeNumber } from '../../kernel/settings.ts';
import {
  assets,
  type ChainFacts,
  type ChainId,
  chainIds,
  chains,
  isCoin,
  type UntradedCoin,
  untradedCoins,
} from '../../money/catalogue.ts';
import { listed } from '../../money/in-words.ts';
import { type Market, MarketUnreachable } from '../../money/market.ts';

/** The price of one coin for charging gas, in atomic units of USDC. */
export type UntradedPrices = Readonly<Record<UntradedCoin, bigint>>;

type Variable = `${UntradedCoin}_USD`;

const variableOf = (coin: UntradedCoin): Variable => `${coin}_USD`;

export const untradedNames: readonly Variable[] = untradedCoins.map(variableOf);

/** The operator sets the price of a native coin that the home chain's market does not trade. */
export const untradedVariables = Object.fromEntries(
  untradedCoins.map((coin) => [variableOf(coin), wholeNumber(1, 10_000, assets[coin].gasPrice)]),
) as Record<Variable, ReturnType<typeof wholeNumber>>;

export const untradedRows: Readonly<Record<string, SettingRow>> = Object.fromEntries(
  untradedCoins.map((coin) => {
    const paidOn = listed(chainIds.filter((id) => chains[id].native === coin).map((id) => chains[id].name));
    return [
      variableOf(coin),
      {
        usual: `\`${assets[coin].gasPrice}\``,
        does: `The price of one ${coin} in whole USDC, for charging gas on ${paidOn}. The market that prices the other coins does not trade it.`,
        change: `When the price of ${coin} has moved.`,
      },
    ];
  }),
);

export function readUntraded(env: Readonly<Record<Variable, number>>): UntradedPrices {
  const prices = untradedCoins.map((coin) => [coin, BigInt(env[variableOf(coin)]) * 1_000_000n]);
  return Object.fromEntries(prices) as UntradedPrices;
}

export interface GasWork {
  readonly gas: bigint;
  /** The total size of its transactions. A rollup also charges for writing them to Ethereum. */
  readonly bytes: bigint;
}

/** What the house pays for gas, to charge it to the account that causes it. */
export interface GasCosts {
  /** In atomic units of USDC, rounded up. Rejects with `unavailable` while the chain or the market does not answer. */
  inUsdc(chain: ChainId, work: GasWork): Promise<bigint>;
}

/** The sandbox charges nothing, so that amounts stay exact there. */
export const freeGas: GasCosts = { inUsdc: async () => 0n };

export interface GasCostsParts {
  readonly networks: Networks;
  readonly market: Pick<Market, 'worth'>;
  readonly untradedInUsdc: UntradedPrices;
  readonly clock: Clock;
}

/**
 * How long a price is cached. Prices can be requested without a key, so this also limits how often the nodes are asked.
 */
const keepMs = 30_000;
const keepFailureMs = 5_000;

interface Prices {
  readonly weiPerGas: bigint;
  /** What a rollup charges for a byte on Ethereum. */
  readonly weiPerByte: bigint;
  /** The price of a whole native coin, in atomic units of USDC. */
  readonly coin: bigint;
}

const wholeCoin = 10n ** 18n;

export function createGasCosts({ networks, market, untradedInUsdc, clock }: GasCostsParts): GasCosts {
  const known = new Map<ChainId, { readonly until: number; readonly prices: Promise<Prices> }>();

  async function ask(network: Network): Promise<Prices> {
    try {
      const [weiPerGas, weiPerByte, coin] = await Promise.all([
        priceOfGas(network),
        priceOfByte(network),
        priceOfCoin(network.id),
      ]);
      return { weiPerGas, weiPerByte, coin };
    } catch (error) {
      if (error instanceof Problem) throw error;
      throw unavailable();
    }
  }

  async function priceOfCoin(chain: ChainId): Promise<bigint> {
    const { native } = chains[chain];
    if (!isCoin(native)) return untradedInUsdc[native];
    const price = await orUnavailable(market.worth({ from: native, to: 'USDC', atomic: wholeCoin }));
    if (price === undefined) throw unavailable();
    return price;
  }

  function pricesOn(network: Network): Promise<Prices> {
    const before = known.get(network.id);
    if (before !== undefined && clock.now() < before.until) return before.prices;
    const prices = ask(network);
    known.set(network.id, { until: clock.now() + keepMs, prices });
    // A node that does not answer is not asked again by every request.
    prices.catch(() => known.set(network.id, { until: clock.now() + keepFailureMs, prices }));
    return prices;
  }

  return {
    async inUsdc(chain, { gas, bytes }) {
      const network = networks.get(chain);
      if (network === undefined) throw unavailable();
      const { weiPerGas, weiPerByte, coin } = await pricesOn(network);
      const wei = gas * weiPerGas + bytes * weiPerByte;
      return (wei * coin + wholeCoin - 1n) / wholeCoin;
    },
  };
}

const unavailable = () => httpErrors.unavailable(undefined, { headers: { 'Retry-After': '5' } });

/**
 * The next block's base fee with a tip that we would pay. Above the operator's ceiling we send nothing, so there is no
 * price, and a node that overstates it cannot charge users more than the ceiling.
 */
async function priceOfGas({ client, feeCeiling }: Network): Promise<bigint> {
  const [block, tip] = await Promise.all([
    client.getBlock({ blockTag: 'latest' }),
    client.estimateMaxPriorityFeePerGas(),
  ]);
  const price = (block.baseFeePerGas ?? 0n) + smaller(tip, feeCeiling.priorityFee);
  if (price > feeCeiling.maxFee) throw unavailable();
  return price;
}

/** The contracts in which rollups publish the cost of a byte on Ethereum. */
const optimismOracle: Hex = '0x420000000000000000000000000000000000000F';
const arbitrumOracle: Hex = '0x000000000000000000000000000000000000006C';
const optimismAbi = parseAbi(['function getL1FeeUpperBound(uint256 unsignedTxSize) view returns (uint256)']);
const arbitrumAbi = parseAbi([
  'function getPricesInWei() view returns (uint256 perTransaction, uint256 perByte, uint256, uint256, uint256, uint256)',
]);

/** Optimism's oracle answers for a whole transaction. */
const bytesAsked = 1_000n;

async function priceOfByte({ id, client }: Network): Promise<bigint> {
  try {
    const { rollup }: ChainFacts = chains[id];
    switch (rollup) {
      case 'optimism': {
        const oracle = { address: optimismOracle, abi: optimismAbi } as const;
        const wei = await client.readContract({ ...oracle, functionName: 'getL1FeeUpperBound', args: [bytesAsked] });
        return wei / bytesAsked + 1n;
      }
      case 'arbitrum': {
        const oracle = { address: arbitrumOracle, abi: arbitrumAbi } as const;
        return (await client.readContract({ ...oracle, functionName: 'getPricesInWei' }))[1];
      }
      default:
        return 0n;
    }
  } catch (error) {
    // The sandbox's chains are not rollups and have no such contract.
    if (error instanceof BaseError && error.walk((inner) => inner instanceof ContractFunctionZeroDataError)) return 0n;
    throw error;
  }
}

/** Turns a failing market into 503 with Retry-After. */
export async function orUnavailable<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof MarketUnreachable)) throw error;
    throw httpErrors.unavailable(undefined, { headers: { 'Retry-After': '5' } });
  }
}
