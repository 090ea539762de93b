import { z } from 'zod';
import { orUnavailable, requireNetwork, walletErrors } from '../../custody/wallets/errors.ts';
import { openUserWallet, type UserWallet } from '../../custody/wallets/user-wallets.ts';
import { countToday, dailyCapErrors } from '../../kernel/daily-caps/count-today.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import { defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import { Problem } from '../../kernel/http/problem.ts';
import { balanceErrors } from '../../ledger/balance-errors.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Posting } from '../../ledger/posting.ts';
import { amountOf, toDecimalText } from '../../money/amount.ts';
import { type ChainId, chains } from '../../money/catalogue.ts';
import { type CrossChainWallet, keepHere, listCrossChainWallets } from './cross-chain-wallets.ts';
import { type ChainGas, gasOn } from './gas-fee.ts';
import { chainField } from './response.ts';
import type { BridgeRouteParts } from './routes.ts';

export function crossChainWalletRoutes(parts: BridgeRouteParts): Route[] {
  return [chainsRoute(parts), walletsRoute(parts), walletRoute(parts)];
}

function chainsRoute({ networks, gasCosts, silentChains }: BridgeRouteParts): Route {
  const describe = (id: ChainId, gas: ChainGas | null) => {
    const { name, domain, explorer } = chains[id];
    return {
      id,
      name,
      domain,
      explorer,
      gasFee: gas && { leaving: toDecimalText(gas.leaving), arriving: toDecimalText(gas.arriving) },
      minimumAmount: gas && toDecimalText(gas.minimum),
    };
  };
  const exampleGas = (leaving: bigint, arriving: bigint, minimum: bigint): ChainGas => ({
    leaving: amountOf('USDC', leaving),
    arriving: amountOf('USDC', arriving),
    minimum: amountOf('USDC', minimum),
  });
  return defineRoute(
    {
      id: 'listChains',
      method: 'GET',
      path: '/cross-chain/chains',
      tag: 'Cross-chain',
      summary: 'List the supported chains and their gas costs',
      description:
        'The gas fee of a transfer is `leaving` of the source chain plus `arriving` of the destination chain. Its amount must be at least the larger `minimumAmount` of the two. Prices are at most 30 seconds old.',
      auth: 'none',
      returns: {
        200: {
          description: 'The supported chains',
          schema: z.object({
            chains: z.array(
              z.object({
                id: chainField,
                name: z.string(),
                domain: z.number().meta({ description: 'The CCTP domain of the chain.' }),
                explorer: z.string(),
                gasFee: z
                  .object({ leaving: z.string(), arriving: z.string() })
                  .nullable()
                  .meta({ description: 'In USDC, as decimal strings. Null while the gas price is unavailable.' }),
                minimumAmount: z.string().nullable().meta({
                  description: 'The smallest transfer from or to this chain, in USDC.',
                }),
              }),
            ),
          }),
          example: {
            chains: [
              describe('MATIC', exampleGas(3_200n, 2_500n, 20_000n)),
              describe('ETH', exampleGas(4_800_000n, 3_750_000n, 17_100_000n)),
            ],
          },
        },
      },
    },
    async () => {
      const silent = await silentChains();
      const gas = async (id: ChainId) =>
        silent.includes(id) ? null : gasOn(gasCosts, id).catch((error: unknown) => nullIfUnavailable(error));
      return ok({ chains: await Promise.all([...networks.keys()].map(async (id) => describe(id, await gas(id)))) });
    },
  );
}

/** A chain that is unavailable right now is still listed. */
function nullIfUnavailable(error: unknown): null {
  if (error instanceof Problem) return null;
  throw error;
}

const wallet = z.object({ blockchain: chainField, name: z.string(), walletId: z.string(), address: z.string() });

const listedWallet = wallet.extend({
  balance: z
    .string()
    .meta({ description: 'Your USDC on this chain, as a decimal string. You can bridge it or withdraw it there.' }),
  eurcBalance: z.string().nullable().meta({
    description:
      'Your EURC on this chain, which can be withdrawn there but not bridged. Null if the chain has no EURC.',
  }),
  arrivals: z.enum(['stay', 'carried_home']).meta({
    description: 'Whether USDC that arrives stays on this chain. Without a wallet there it is bridged to Polygon.',
  }),
  waiting: z.string().meta({ description: 'USDC that has arrived and waits to be bridged to Polygon.' }),
});

const exampleWallet = {
  blockchain: 'BASE' as const,
  name: 'Base',
  walletId: 'wal_01kp3v2m8rfk2s6y0e6v9q4w1x',
  address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
};

function walletsRoute(parts: BridgeRouteParts): Route {
  return defineRoute(
    {
      id: 'listCrossChainWallets',
      method: 'GET',
      path: '/cross-chain/wallets',
      tag: 'Cross-chain',
      summary: 'List your cross-chain wallets',
      description:
        'Your wallet on Polygon, wallets that you or a transfer created, and any chain where a deposit of yours has arrived.',
      auth: 'key',
      scope: 'read',
      returns: {
        200: {
          description: 'Your wallets with their balances',
          schema: z.object({ wallets: z.array(listedWallet) }),
          example: {
            wallets: [{ ...exampleWallet, balance: '25', eurcBalance: '0', arrivals: 'stay', waiting: '0' }],
          },
        },
      },
    },
    async ({ caller }) => {
      const listed = await listCrossChainWallets(parts, caller.accountId);
      return ok({ wallets: listed.map(describeListed) });
    },
  );
}

function walletRoute(parts: BridgeRouteParts): Route {
  const { once, ledger, networks } = parts;
  return defineRoute(
    {
      id: 'createCrossChainWallet',
      method: 'POST',
      path: '/cross-chain/wallet',
      tag: 'Cross-chain',
      summary: 'Create a wallet on a chain',
      description:
        'There is one wallet per chain; a repeated call returns the same one. From then on, deposits on that chain stay in your balance there instead of being bridged to Polygon.',
      auth: 'key',
      scope: 'manage',
      body: z.strictObject({ blockchain: chainField }),
      examples: { body: { blockchain: 'BASE' } },
      idempotent: true,
      returns: { 200: { description: 'Your wallet on that chain', schema: wallet, example: exampleWallet } },
      errors: [walletErrors.chain_not_available, balanceErrors.account_frozen, dailyCapErrors.daily_cap_reached],
    },
    async ({ caller, body, idempotency }) => {
      requireNetwork(networks, body.blockchain);
      const opened = await orUnavailable(openUserWallet(parts, caller.accountId, body.blockchain));
      return once({ caller, idempotency }, async (tx) => {
        if (idempotency !== undefined) await countToday(tx, caller, 'walletRequests');
        const kept = await keepHere(tx, caller.accountId, body.blockchain);
        if (kept.length > 0) await keepOrRefuse(tx, ledger, kept);
        return ok(describe(opened.wallet));
      });
    },
  );
}

/** Deposits of a frozen account keep waiting. */
async function keepOrRefuse(tx: Transaction, ledger: Ledger, kept: readonly Posting[]): Promise<void> {
  for (const { outcome } of await ledger.postWithin(tx, kept)) {
    if (outcome === 'frozen_account') throw balanceErrors.account_frozen();
    if (outcome !== 'posted') throw new Error(`what waited was not kept: ${outcome}`);
  }
}

function describe({ id, chain, address }: UserWallet): z.input<typeof wallet> {
  return { blockchain: chain, name: chains[chain].name, walletId: id, address };
}

function describeListed(one: CrossChainWallet): z.input<typeof listedWallet> {
  return {
    ...describe(one.wallet),
    balance: toDecimalText(one.usdc),
    eurcBalance: one.eurc && toDecimalText(one.eurc),
    arrivals: one.keeps ? 'stay' : 'carried_home',
    waiting: toDecimalText(one.waiting),
  };
}
