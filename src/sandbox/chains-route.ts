import { z } from 'zod';
import { cctp } from '../chains/cctp.ts';
import { chainIds, chains as facts } from '../chains/chains.ts';
import { defineRoute, ok, type Route } from '../http/define-route.ts';
import { attesters } from './cctp/accounts.ts';
import type { LocalChains } from './chains/local-chains.ts';
import { mintedTokens, wrappedCoins } from './chains/tokens.ts';

const chain = z.object({
  id: z.enum(chainIds),
  chainId: z.number(),
  rpcUrl: z.string(),
  tokens: z.record(z.string(), z.string()),
  cctp: z
    .object({
      tokenMessenger: z.string(),
      messageTransmitter: z.string(),
      tokenMinter: z.string(),
      attesters: z.array(z.string()).describe('Who signs what was burnt, in the order of their signatures'),
    })
    .describe("Circle's cross-chain protocol, version 2: contracts of our own that behave like the real ones"),
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
          schema: z.object({
            chains: z.array(chain),
            attestationUrl: z.string().describe('Where what is burnt is attested, as at https://iris-api.circle.com'),
          }),
          example: {
            attestationUrl: 'http://127.0.0.1:8545',
            chains: [
              {
                id: 'MATIC',
                chainId: 137,
                rpcUrl: 'http://127.0.0.1:8545/matic',
                tokens: {
                  USDC: '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359',
                  WMATIC: '0x0d500B1d8E8eF31E21C99d1Db9A6444d3ADf1270',
                },
                cctp: { ...cctp, attesters: attesters.map(({ address }) => address) },
              },
            ],
          },
        },
      },
    },
    async () =>
      ok({
        attestationUrl: chains.attestationUrl,
        chains: Array.from(chains.settings, ([id, { urls }]) => ({
          id,
          chainId: facts[id].chainId,
          rpcUrl: urls[0] ?? '',
          tokens: Object.fromEntries(
            [...mintedTokens[id], wrappedCoins[id]].map(({ symbol, address }) => [symbol, address]),
          ),
          cctp: { ...cctp, attesters: attesters.map(({ address }) => address) },
        })),
      }),
  );
}
