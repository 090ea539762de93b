import { BaseError, encodeFunctionData } from 'viem';
import { chains, homeChain } from '../../chains/chains.ts';
import type { Network, Networks } from '../../chains/network.ts';
import { uniswap } from '../../chains/uniswap.ts';
import { type Market, type MarketQuote, MarketUnreachable, type Trade, type Wanted } from '../../swaps/market.ts';
import { routerAbi } from './abi.ts';
import { askQuote } from './quote.ts';

/** Quotes of one block that are remembered. */
const mostRemembered = 1_000;

/** Uniswap v3 on the home chain. */
export function createUniswapMarket(networks: Networks): Market {
  let remembered: { readonly block: bigint; readonly quotes: Map<string, Promise<MarketQuote | undefined>> } = {
    block: -1n,
    quotes: new Map(),
  };

  async function quote(wanted: Wanted): Promise<MarketQuote | undefined> {
    const network = networks.get(homeChain);
    if (network === undefined) throw new MarketUnreachable(`${homeChain} is switched off`);
    const block = await newestBlock(network);
    if (block > remembered.block) remembered = { block, quotes: new Map() };
    const { quotes } = remembered;
    const name = `${wanted.from}/${wanted.to}/${wanted.atomic}`;
    const found = block === remembered.block ? quotes.get(name) : undefined;
    if (found !== undefined) return found;
    const asked = askQuote(network, wanted, block);
    if (block === remembered.block && quotes.size < mostRemembered) {
      quotes.set(name, asked);
      asked.catch(() => quotes.delete(name));
    }
    return asked;
  }

  return { spender: uniswap.router, quote, trade };
}

/** Asked for no more often than the chain is looked at anyway. */
async function newestBlock({ client, pollMs }: Network): Promise<bigint> {
  try {
    return await client.getBlockNumber({ cacheTime: pollMs });
  } catch (cause) {
    if (!(cause instanceof BaseError)) throw cause;
    throw new MarketUnreachable('the chain does not answer', { cause });
  }
}

function trade({ from, atomic, path, atLeast, recipient, deadline }: Trade) {
  const swap = encodeFunctionData({
    abi: routerAbi,
    functionName: 'exactInput',
    args: [{ path, recipient, amountIn: atomic, amountOutMinimum: atLeast }],
  });
  const isCoin = from === chains[homeChain].native;
  // What the pools have not taken of native coin would stay with the router, for anybody.
  const refund = isCoin ? [encodeFunctionData({ abi: routerAbi, functionName: 'refundETH' })] : [];
  return {
    contract: uniswap.router,
    data: encodeFunctionData({ abi: routerAbi, functionName: 'multicall', args: [deadline, [swap, ...refund]] }),
    ...(isCoin && { value: atomic }),
  };
}
