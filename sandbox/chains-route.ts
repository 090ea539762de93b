import { z } from 'zod';
import { uniswap } from '../src/chains/abi.ts';
import { cctp } from '../src/chains/cctp.ts';
import { defineRoute, ok, type Route } from '../src/kernel/http/define-route.ts';
import { chainIds, chains as facts, homeChain } from '../src/money/catalogue.ts';
import { attesters } from './accounts.ts';
import type { LocalChains } from './chains/local-chains.ts';
import { tokensOf } from './chains/tokens.ts';
import type { SandboxSeller } from './seller/open-seller.ts';
import { demoMerchantKey } from './shop/demo-merchant.ts';
import type { SandboxShops } from './shop/open-shops.ts';

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
  uniswap: z
    .object({
      factory: z.string(),
      quoter: z.string().describe('QuoterV2'),
      router: z.string().describe('SwapRouter02'),
    })
    .optional()
    .describe('Uniswap v3, the real contracts; on Polygon only'),
});

const shop = z.object({
  domain: z.string().meta({ description: 'Use it as `website`.' }),
  url: z.string().meta({ description: 'Open it in a browser on this machine.' }),
});

/** How to reach the local chains with a wallet of one's own, and the demo shops and seller. */
export function chainsRoute(
  chains: LocalChains,
  { demoShop, closedShop }: SandboxShops,
  { url }: SandboxSeller,
  merchantKey: () => Promise<string>,
): Route {
  return defineRoute(
    {
      id: 'getSandbox',
      method: 'GET',
      path: '/sandbox',
      tag: 'Sandbox',
      summary: 'List the local chains, demo shops and demo seller',
      description:
        'Any Ethereum client or browser wallet on the sandbox machine can use `rpcUrl`; requests from other web pages are refused. `demoShop` and `closedShop` can be searched like any shop on the web; `closedShop` accepts no orders. `demoShop.merchantKey` is an API key of the demo shop’s merchant: it sees the shop’s sales (`GET /shopping/sales`) and can refund them. `demoSeller` sells forecasts over x402: pay it with `POST /nano/pay`.',
      auth: 'none',
      returns: {
        200: {
          description: 'Every chain with its tokens by symbol, two demo shops and a seller',
          schema: z.object({
            chains: z.array(chain),
            attestationUrl: z.string().describe('Where what is burnt is attested, as at https://iris-api.circle.com'),
            demoShop: shop.extend({
              merchantKey: z
                .string()
                .meta({ description: 'An API key of its merchant, with the scopes read and pay.' }),
            }),
            closedShop: shop,
            demoSeller: z.object({ url: z.string().meta({ description: 'Use it with `POST /nano/pay`.' }) }),
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
                uniswap: { ...uniswap },
              },
            ],
            demoShop: { domain: 'demo-shop.example', url: 'http://127.0.0.1:8460', merchantKey: demoMerchantKey },
            closedShop: { domain: 'closed-shop.example', url: 'http://127.0.0.1:8461' },
            demoSeller: { url: 'http://demo-seller.example/forecast' },
          },
        },
      },
    },
    async () =>
      ok({
        attestationUrl: chains.attestationUrl,
        demoShop: { domain: demoShop.domain, url: demoShop.url, merchantKey: await merchantKey() },
        closedShop,
        demoSeller: { url },
        chains: Array.from(chains.settings, ([id, { urls }]) => ({
          id,
          chainId: facts[id].chainId,
          rpcUrl: urls[0] ?? '',
          tokens: Object.fromEntries(tokensOf(id).map(({ symbol, address }) => [symbol, address])),
          cctp: { ...cctp, attesters: attesters.map(({ address }) => address) },
          ...(id === homeChain && { uniswap }),
        })),
      }),
  );
}
