import { z } from 'zod';
import { chainIds, chains as facts } from '../chains/chains.ts';
import { defineRoute, ok, type Route } from '../http/define-route.ts';
import type { LocalChains } from './chains/local-chains.ts';
import { mintedTokens, wrappedCoins } from './chains/tokens.ts';

const chain = z.object({
  id: z.enum(chainIds),
  chainId: z.number(),
  rpcUrl: z.string(),
  tokens: z.record(z.string(), z.string()),
});

/** Where to reach the local chains, for anybody who brings a wallet of their own. */
export function chainsRoute(chains: LocalChains): Route {
  return defineRoute(
    {
      id: 'getSandbox',
      method: 'GET',
      path: '/sandbox',
      tag: 'Sandbox',
      summary: 'The local chains, and what is on them',
      description: 'Any Ethereum client can use `rpcUrl` from the machine that the sandbox runs on.',
      auth: 'none',
      returns: {
        200: {
          description: 'Every chain with its tokens by symbol',
          schema: z.object({ chains: z.array(chain) }),
          example: {
            chains: [
              {
                id: 'MATIC',
                chainId: 137,
                rpcUrl: 'http://127.0.0.1:8545/matic',
                tokens: {
                  USDC: '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359',
                  WMATIC: '0x0d500B1d8E8eF31E21C99d1Db9A6444d3ADf1270',
                },
              },
            ],
          },
        },
      },
    },
    async () =>
      ok({
        chains: Array.from(chains.settings, ([id, { urls }]) => ({
          id,
          chainId: facts[id].chainId,
          rpcUrl: urls[0] ?? '',
          tokens: Object.fromEntries(
            [...mintedTokens[id], wrappedCoins[id]].map(({ symbol, address }) => [symbol, address]),
          ),
        })),
      }),
  );
}
