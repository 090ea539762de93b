import { z } from 'zod';
import { withdrawalAddress } from '../src/accounts/fields.ts';
import type { Database, Queryable } from '../src/kernel/db/database.ts';
import { amountField, amountValue, requireAmount } from '../src/kernel/http/amount-field.ts';
import { defineRoute, ok, type Route } from '../src/kernel/http/define-route.ts';
import { httpErrors } from '../src/kernel/http/errors.ts';
import { listRoute } from '../src/kernel/http/list-route.ts';
import type { Secrets } from '../src/kernel/secrets/secrets.ts';
import type { Ledger } from '../src/ledger/ledger.ts';
import { type Asset, chainIds, chains, homeChain } from '../src/money/catalogue.ts';
import type { Faucet } from './chains/faucet.ts';
import type { LocalChains } from './chains/local-chains.ts';
import { type FaucetAsset, faucetAssets, faucetCurrencies, wrappedHomeCoin } from './chains/tokens.ts';
import { chainsRoute } from './chains-route.ts';
import { fundRoute, mintOrRefuse } from './fund-route.ts';
import type { SandboxSeller } from './seller/open-seller.ts';
import { createDemoMerchant } from './shop/demo-merchant.ts';
import type { SandboxShops } from './shop/open-shops.ts';

const address = withdrawalAddress.meta({
  description: 'Any address. A mixed-case address must have a valid EIP-55 checksum.',
});
const chain = z.enum(chainIds, { error: `must be one of ${chainIds.join(', ')}` });
const currency = z.enum(faucetCurrencies, { error: `must be one of ${faucetCurrencies.join(', ')}` });
const amount = amountField.meta({
  description: 'A number or decimal string greater than 0, with at most as many decimals as the currency has.',
});

function faucetRoute(faucet: Faucet): Route {
  return defineRoute(
    {
      id: 'useSandboxFaucet',
      method: 'POST',
      path: '/sandbox/faucet',
      tag: 'Sandbox',
      summary: 'Send test money to any address on a local chain',
      description: `The currency may also be the chain’s gas coin: MATIC on Polygon, ETH on Ethereum. On Polygon, ETH means the token WETH, and ${wrappedHomeCoin} is the token form of MATIC.`,
      auth: 'none',
      body: z.strictObject({ address, chain, currency, amount }),
      examples: {
        body: {
          address: '0x90F79bf6EB2c4f870365E785982E1f101E93b906',
          chain: 'MATIC',
          currency: 'USDC',
          amount: 25,
        },
      },
      idempotent: true,
      returns: {
        200: {
          description: 'The transaction is mined',
          schema: z.object({ txHash: z.string(), address: z.string(), chain, currency, amount: amountValue }),
          example: {
            txHash: '0x5a1f0b5d8c1f4f2e7b7f4e4f4b8c9f2a6d3e1c0b9a8f7e6d5c4b3a291807f6e5',
            address: '0x90F79bf6EB2c4f870365E785982E1f101E93b906',
            chain: 'MATIC',
            currency: 'USDC',
            amount: 25,
          },
        },
      },
      errors: [httpErrors.unavailable],
    },
    async ({ body, idempotency, requestId }) => {
      const offered = faucetAssets(body.chain);
      if (!offered.includes(body.currency)) {
        const message = `must be one of ${offered.join(', ')} on ${body.chain}`;
        throw httpErrors.invalid_request(`currency ${message}.`, { errors: [{ path: 'currency', message }] });
      }
      const money = requireAmount(unitOf(body.currency), body.amount);
      const txHash = await mintOrRefuse(faucet, {
        // The route needs no key, so an Idempotency-Key is scoped to the address.
        id: idempotency === undefined ? `faucet ${requestId}` : `faucet of ${body.address} ${idempotency.key}`,
        chain: body.chain,
        asset: body.currency,
        to: body.address,
        atomic: money.atomic,
      });
      return ok({ txHash, ...body, amount: body.amount.toJSON() });
    },
  );
}

/** The wrapped coin has the same decimals. */
function unitOf(currency: FaucetAsset): Asset {
  return currency === wrappedHomeCoin ? chains[homeChain].native : currency;
}

const message = z.object({
  id: z.string(),
  channel: z.enum(['email', 'sms']),
  to: z.string(),
  subject: z.string(),
  text: z.string(),
  createdAt: z.iso.datetime(),
});

function messagesRoute({ db, secrets }: { readonly db: Queryable; readonly secrets: Secrets }): Route {
  return listRoute({
    id: 'listSandboxMessages',
    path: '/sandbox/messages',
    tag: 'Sandbox',
    summary: 'List emails and text messages for your account',
    description:
      'The sandbox sends no emails or text messages; it shows them here. Password reset tokens always appear, and verification codes when SANDBOX_AUTO_VERIFY=false. Messages to an email that you have not verified appear only on the console.',
    name: 'messages',
    item: message,
    example: {
      id: 'msg_01kp3v2m8rfk2s6y0e6v9q4w1x',
      channel: 'sms',
      to: '+14155550123',
      subject: 'Your Paywright code',
      text: '493021 is your Paywright code.',
      createdAt: '2026-01-15T10:00:00.000Z',
    },
    rows: async ({ accountId, cursor, limit }) => {
      const { rows } = await db.query<
        Omit<z.infer<typeof message>, 'text' | 'createdAt'> & { sealed: Buffer; createdAt: Date }
      >(
        `SELECT id, channel, recipient AS to, subject, sealed, created_at FROM messages
          WHERE account_id = $1 AND sealed IS NOT NULL AND ($2::text IS NULL OR id < $2)
          ORDER BY id DESC LIMIT $3`,
        [accountId, cursor ?? null, limit + 1],
      );
      return rows;
    },
    describe: ({ sealed, createdAt, ...row }) => ({
      ...row,
      text: secrets.open('messages', sealed),
      createdAt: createdAt.toISOString(),
    }),
  });
}

/** Live mode does not have these routes. */
export interface SandboxParts {
  readonly db: Database;
  readonly ledger: Ledger;
  readonly secrets: Secrets;
  readonly chains: LocalChains;
  readonly shops: SandboxShops;
  readonly seller: SandboxSeller;
}

export function sandboxRoutes({ db, ledger, secrets, chains, shops, seller }: SandboxParts): Route[] {
  return [
    chainsRoute(chains, shops, seller, createDemoMerchant({ db, ledger, secrets })),
    fundRoute({ db, chains }),
    faucetRoute(chains.faucet),
    messagesRoute({ db, secrets }),
  ];
}
