import { encodeFunctionResult, type Hex } from 'viem';
import { expect, test } from 'vitest';
import type { Network } from '../../../../chains/network.ts';
import { chains } from '../../../../money/catalogue.ts';
import { MarketUnreachable } from '../../../../money/market.ts';
import { multicallAbi } from './ask.ts';
import { askQuote } from './quote.ts';

const wanted = { from: 'USDC', to: 'ETH', atomic: 1_000_000n } as const;

/** A node that answers every call of the quote with the same. */
function nodeThatSays(returnData: Hex): Network {
  const results = Array.from({ length: 56 }, () => ({ success: true, gasUsed: 0n, returnData }));
  const data = encodeFunctionResult({ abi: multicallAbi, functionName: 'multicall', result: [1n, results] });
  const tokens = Object.entries(chains.MATIC.tokens);
  return {
    tokens: tokens.map(([asset, address]) => ({ asset, address })),
    client: { call: async () => ({ data }) },
  } as unknown as Network;
}

test('pools that are not there pay nothing', async () => {
  expect(await askQuote(nodeThatSays('0x'), wanted, 1n)).toBeUndefined();
});

test.each(['0x01', `0x${'ff'.repeat(32)}`] as const)(
  'a node that says %s has not said what the market pays',
  async (said) => {
    await expect(askQuote(nodeThatSays(said), wanted, 1n)).rejects.toThrow(MarketUnreachable);
  },
);
