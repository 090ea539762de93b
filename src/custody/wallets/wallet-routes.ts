import { z } from 'zod';
import type { Networks } from '../../chains/network.ts';
import { countToday, dailyCapErrors } from '../../kernel/daily-caps/count-today.ts';
import type { Database } from '../../kernel/db/database.ts';
import { holding } from '../../kernel/http/amount-field.ts';
import { defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import type { RunOnce } from '../../ledger/idempotency.ts';
import { assets, type ChainId, chainIds, chains, coins, holdings, homeChain } from '../../money/catalogue.ts';
import { listed } from '../../money/in-words.ts';
import { orUnavailable, requireNetwork, walletErrors } from './errors.ts';
import { accountsKeepingOn, depositTokens } from './kept-chains.ts';
import type { WalletProvider } from './provider.ts';
import { openUserWallet } from './user-wallets.ts';

export interface WalletParts {
  readonly db: Database;
  readonly once: RunOnce;
  readonly provider: WalletProvider;
  readonly networks: Networks;
}

const chain = z.enum(chainIds);

/** "ETH is accepted as WETH and MATIC as WMATIC": coins whose tokens have another name. */
const takenAs = listed(
  coins
    .filter((coin) => assets[coin].token.symbol !== coin)
    .map((coin, index) => `${coin}${index === 0 ? ' is accepted' : ''} as ${assets[coin].token.symbol}`),
);

export function walletRoutes(parts: WalletParts): Route[] {
  return [walletRoute(parts), depositAddressRoute(parts)];
}

function walletRoute(parts: WalletParts): Route {
  return defineRoute(
    {
      id: 'createWallet',
      method: 'POST',
      path: '/circle/wallet',
      tag: 'Wallets',
      summary: 'Create your wallet',
      description: 'Registration creates the wallet, so this normally returns the existing one.',
      auth: 'key',
      scope: 'manage',
      idempotent: true,
      returns: {
        200: {
          description: 'Your wallet on Polygon',
          schema: z.object({
            walletId: z.string(),
            existing: z.boolean().meta({ description: 'Whether the wallet existed before this request.' }),
          }),
          example: { walletId: 'wal_01kp3v2m8rfk2s6y0e6v9q4w1x', existing: true },
        },
      },
      errors: [dailyCapErrors.daily_cap_reached],
    },
    async ({ caller, idempotency }) => {
      const { wallet, existing } = await orUnavailable(openUserWallet(parts, caller.accountId, homeChain));
      return parts.once({ caller, idempotency }, async (tx) => {
        if (idempotency !== undefined) await countToday(tx, caller, 'walletRequests');
        return ok({ walletId: wallet.id, existing });
      });
    },
  );
}

function depositAddressRoute(parts: WalletParts): Route {
  return defineRoute(
    {
      id: 'getDepositAddress',
      method: 'GET',
      path: '/circle/deposit-address',
      tag: 'Wallets',
      summary: 'Retrieve your deposit address',
      description: `Deposits are credited automatically once the chain has confirmed them. On Polygon they go to your spendable balance. On another chain where you have a cross-chain wallet (from \`POST /cross-chain/wallet\` or a cross-chain transfer) they stay in your balance there; otherwise USDC is bridged to Polygon automatically once the amount is worth the gas. EURC always stays on its chain. This request does not create a cross-chain wallet. On Polygon ${takenAs}; native coins are not credited. Send only the listed currencies: other tokens are not credited.`,
      auth: 'key',
      scope: 'read',
      query: z.strictObject({ chain: chain.default(homeChain) }),
      examples: { query: { chain: 'MATIC' } },
      returns: {
        200: {
          description: 'Your address on that chain',
          schema: z.object({
            chain,
            address: z.string(),
            currencies: z.array(holding),
            arrivals: z
              .enum(['stay', 'carried_home'])
              .meta({ description: 'Whether USDC that arrives stays on this chain or is bridged to Polygon.' }),
            note: z.string().meta({ description: 'Instructions for the sender. Show them verbatim.' }),
          }),
          example: {
            chain: 'MATIC',
            address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
            currencies: [...holdings],
            arrivals: 'stay',
            note: note('MATIC', { stays: true }),
          },
        },
      },
      errors: [walletErrors.chain_not_available],
    },
    async ({ caller, query }) => {
      const network = requireNetwork(parts.networks, query.chain);
      const { wallet } = await orUnavailable(openUserWallet(parts, caller.accountId, query.chain));
      const stays = (await accountsKeepingOn(parts.db, query.chain, [caller.accountId])).has(caller.accountId);
      return ok({
        chain: query.chain,
        address: wallet.address,
        currencies: depositTokens(network).map(({ asset }) => asset),
        arrivals: stays ? ('stay' as const) : ('carried_home' as const),
        note: note(query.chain, { stays }),
      });
    },
  );
}

function note(id: ChainId, { stays }: { readonly stays: boolean }): string {
  const { name } = chains[id];
  if (id === homeChain)
    return `Send on ${name} only. Deposits can be spent immediately. ${takenAs}; native coins are not credited.`;
  if (stays) return `Send on ${name} only. Deposits stay in your balance on ${name}.`;
  return `Send on ${name} only. USDC is bridged to ${chains[homeChain].name} automatically once the amount is worth the gas, and can be spent there. To keep it on ${name}, create a wallet there first: POST /cross-chain/wallet.`;
}
