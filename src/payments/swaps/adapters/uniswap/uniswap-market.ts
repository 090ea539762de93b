import { BaseError, decodeFunctionData, encodeFunctionData, type Hex, slice } from 'viem';
import { uniswap } from '../../../../chains/abi.ts';
import type { Network, Networks } from '../../../../chains/network.ts';
import { chains, homeChain } from '../../../../money/catalogue.ts';
import {
  type Market,
  type MarketCall,
  type MarketQuote,
  MarketUnreachable,
  type Trade,
} from '../../../../money/market.ts';
import { routerAbi } from './ask.ts';
import { askPrices, type Prices, worthAt } from './prices.ts';
import { askQuote } from './quote.ts';

/** The most answers cached per block. */
const mostRemembered = 1_000;

export function createUniswapMarket(networks: Networks): Market {
  const quotes = rememberForABlock<MarketQuote | undefined>();
  const prices = rememberForABlock<Prices>();

  async function home(): Promise<{ readonly network: Network; readonly block: bigint }> {
    const network = networks.get(homeChain);
    if (network === undefined) throw new MarketUnreachable(`${homeChain} is switched off`);
    return { network, block: await newestBlock(network) };
  }

  return {
    spender: uniswap.router,
    async quote(wanted) {
      const { network, block } = await home();
      const { from, to, atomic, mostGas = '' } = wanted;
      return quotes(block, `${from}/${to}/${atomic}/${mostGas}`, () => askQuote(network, wanted, block));
    },
    async worth(wanted) {
      const { network, block } = await home();
      return worthAt(await prices(block, 'all', () => askPrices(network, block)), wanted);
    },
    trade,
    readWay,
  };
}

/** Caches answers until the next block. */
function rememberForABlock<T>() {
  let remembered = { block: -1n, answers: new Map<string, Promise<T>>() };
  return (block: bigint, name: string, ask: () => Promise<T>): Promise<T> => {
    if (block > remembered.block) remembered = { block, answers: new Map() };
    if (block < remembered.block) return ask();
    const { answers } = remembered;
    const found = answers.get(name);
    if (found !== undefined) return found;
    const asked = ask();
    if (answers.size < mostRemembered) {
      answers.set(name, asked);
      asked.catch(() => answers.delete(name));
    }
    return asked;
  };
}

/** Cached for one poll interval. */
async function newestBlock({ client, pollMs }: Network): Promise<bigint> {
  try {
    return await client.getBlockNumber({ cacheTime: pollMs });
  } catch (cause) {
    if (!(cause instanceof BaseError)) throw cause;
    throw new MarketUnreachable('the chain does not answer', { cause });
  }
}

/** Uniswap's constant for the router's whole balance. */
const allOfIt = 0n;

/**
 * One transaction: the router pulls the whole amount, swaps its balance, and sends the rest to the recipient. A pool that runs dry takes less
 * than it is offered. Otherwise the rest would stay approved in the seller's wallet or, as native coin, in the router, where anybody can take it.
 */
function trade({ from, atomic, path, atLeast, recipient, deadline }: Trade): MarketCall {
  const token = slice(path, 0, 20);
  const isCoin = from === chains[homeChain].native;
  const calls = [
    isCoin
      ? encodeFunctionData({ abi: routerAbi, functionName: 'wrapETH', args: [atomic] })
      : encodeFunctionData({ abi: routerAbi, functionName: 'pull', args: [token, atomic] }),
    encodeFunctionData({
      abi: routerAbi,
      functionName: 'exactInput',
      args: [{ path, recipient, amountIn: allOfIt, amountOutMinimum: atLeast }],
    }),
    encodeFunctionData({ abi: routerAbi, functionName: 'sweepToken', args: [token, 0n, recipient] }),
  ];
  return {
    contract: uniswap.router,
    data: encodeFunctionData({ abi: routerAbi, functionName: 'multicall', args: [deadline, calls] }),
    ...(isCoin && { value: atomic }),
  };
}

function readWay(data: Hex): Pick<Trade, 'path' | 'recipient'> | undefined {
  try {
    const whole = decodeFunctionData({ abi: routerAbi, data });
    if (whole.functionName !== 'multicall') return undefined;
    for (const call of whole.args[1]) {
      const { functionName, args } = decodeFunctionData({ abi: routerAbi, data: call });
      if (functionName === 'exactInput') return { path: args[0].path, recipient: args[0].recipient };
    }
  } catch {
    // A call that we never make.
  }
  return undefined;
}
