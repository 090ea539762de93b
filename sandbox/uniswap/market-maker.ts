import { setTimeout as sleep } from 'node:timers/promises';
import { encodeFunctionData, type Hex, parseAbi, slice, toHex } from 'viem';
import { uniswap } from '../../src/chains/abi.ts';
import type { Logger } from '../../src/kernel/log/logger.ts';
import { marketMaker } from '../accounts.ts';
import { askChain, type LocalChain, type OpenLocalChain, requestAllAs } from '../chains/local-chain.ts';
import { type Pool, pools, tradedTokens, worth } from './pools.ts';

/** From a change of the chain to the look at the pools, and from there to the next one. Many changes share a look. */
const pauseMs = 1_000;

/** Checks the pools when the chain has changed. It is stateless and runs in the process that runs the chains. */
export function runMarketMaker(chain: OpenLocalChain, logger: Logger) {
  const stopping = new AbortController();
  const { signal } = stopping;
  const pause = () => sleep(pauseMs, undefined, { signal, ref: false }).catch(() => {});
  let hasChanged = true;
  let noteChange = () => {};
  const stopListening = chain.onChange(() => {
    hasChanged = true;
    noteChange();
  });

  async function run(): Promise<void> {
    while (!signal.aborted) {
      if (!hasChanged) {
        await new Promise<void>((resolve) => {
          noteChange = resolve;
        });
      }
      await pause();
      if (signal.aborted) return;
      hasChanged = false;
      try {
        await correctPrices(chain);
      } catch (err) {
        hasChanged = true;
        if (!signal.aborted) logger.warn({ err }, 'the market maker could not correct prices');
      }
      await pause();
    }
  }

  const running = run();
  return {
    async stop(): Promise<void> {
      stopListening();
      stopping.abort();
      noteChange();
      await running;
    },
  };
}

/** A price that deviates more than this from its reference is corrected. */
const strayedPerMille = 5n;
/** The limit per trade, in USDC. A larger deviation takes several trades. */
const mostPerTrade = 1_000_000n;
const gas = 3_000_000n;
/** The most that a transaction's gas can cost. Without this balance the market maker pauses. */
const neededCoin = gas * 100_000_000_000n;

const slot0 = encodeFunctionData({ abi: parseAbi(['function slot0()']) });
const routerAbi = parseAbi([
  'struct ExactInputSingleParams { address tokenIn; address tokenOut; uint24 fee; address recipient; uint256 amountIn; uint256 amountOutMinimum; uint160 sqrtPriceLimitX96; }',
  'function exactInputSingle(ExactInputSingleParams params) payable returns (uint256 amountOut)',
  'function multicall(bytes[] data) payable returns (bytes[] results)',
]);

/** Corrects all deviating pools in one transaction. Returns the number of trades. */
export async function correctPrices(chain: LocalChain): Promise<number> {
  const trades: Hex[] = [];
  for (const pool of pools) {
    const price = await priceOf(chain, pool);
    if (price !== undefined && hasStrayed(price, pool)) trades.push(tradeBack(price, pool));
  }
  if (trades.length === 0 || !(await mayTrade(chain))) return 0;
  const transaction = {
    from: marketMaker.address,
    to: uniswap.router,
    data: encodeFunctionData({ abi: routerAbi, functionName: 'multicall', args: [trades] }),
    gas: toHex(gas),
  };
  // Simulated first, because a transaction that fails would mine a block for nothing, on every poll.
  await askChain(chain, 'eth_call', [transaction, 'latest']);
  const trade = { method: 'eth_sendTransaction', params: [transaction] };
  await requestAllAs(chain, marketMaker.address, [trade], 'the market maker could not trade');
  return trades.length;
}

/** Undefined if the pool is not open yet, on a chain that does not mine. */
async function priceOf(chain: LocalChain, { address }: Pool): Promise<bigint | undefined> {
  const answer = await askChain<Hex>(chain, 'eth_call', [{ to: address, data: slot0 }, 'latest']);
  return answer === '0x' ? undefined : BigInt(slice(answer, 0, 32));
}

/** Both are square roots of prices. */
function hasStrayed(price: bigint, { reference }: Pool): boolean {
  const [square, expected] = [price ** 2n, reference ** 2n];
  const distance = square > expected ? square - expected : expected - square;
  return distance * 1_000n > expected * strayedPerMille;
}

/** Buys the asset that is too cheap, up to the reference price or the limit. */
function tradeBack(price: bigint, { assets: [first, second], fee, reference }: Pool): Hex {
  const [sold, bought] = price > reference ? [first, second] : [second, first];
  return encodeFunctionData({
    abi: routerAbi,
    functionName: 'exactInputSingle',
    args: [
      {
        tokenIn: tradedTokens[sold],
        tokenOut: tradedTokens[bought],
        fee,
        recipient: marketMaker.address,
        amountIn: worth(sold, mostPerTrade),
        amountOutMinimum: 0n,
        sqrtPriceLimitX96: reference,
      },
    ],
  });
}

/** Without automine the transaction would stay pending and be sent again. */
async function mayTrade(chain: LocalChain): Promise<boolean> {
  if (!(await askChain<boolean>(chain, 'hardhat_getAutomine'))) return false;
  const coin = await askChain<Hex>(chain, 'eth_getBalance', [marketMaker.address, 'latest']);
  return BigInt(coin) >= neededCoin;
}
