import { z } from 'zod';
import { withdrawalAddress } from '../src/accounts/fields.ts';
import { amountField, amountOrRefuse, figure } from '../src/kernel/http/amount-field.ts';
import { defineRoute, ok, type Route } from '../src/kernel/http/define-route.ts';
import { httpErrors } from '../src/kernel/http/errors.ts';
import { type Asset, chainIds, chains, homeChain } from '../src/money/catalogue.ts';
import type { Faucet } from './chains/faucet.ts';
import { type FaucetAsset, faucetAssets, faucetCurrencies, wrappedHomeCoin } from './chains/tokens.ts';
import { mintOrRefuse } from './mint-or-refuse.ts';

const address = withdrawalAddress.meta({
  description: 'Any address. A mixed-case address must have a valid EIP-55 checksum.',
});
const chain = z.enum(chainIds, { error: `must be one of ${chainIds.join(', ')}` });
const currency = z.enum(faucetCurrencies, { error: `must be one of ${faucetCurrencies.join(', ')}` });
const amount = amountField.meta({
  description: 'A number or decimal string greater than 0, with at most as many decimals as the currency has.',
});

export function faucetRoute(faucet: Faucet): Route {
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
          schema: z.object({ txHash: z.string(), address: z.string(), chain, currency, amount: figure }),
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
      const money = amountOrRefuse(unitOf(body.currency), body.amount);
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
