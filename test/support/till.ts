import { z } from 'zod';
import type { Feature } from '../../src/kernel/feature.ts';
import { type Caller, defineRoute, ok } from '../../src/kernel/http/define-route.ts';
import { houseAccount, userAccount } from '../../src/ledger/account-id.ts';
import { requirePosted } from '../../src/ledger/balance-errors.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { amountOf } from '../../src/money/amount.ts';
import { type ChainId, chainIds, holdings } from '../../src/money/catalogue.ts';
import {
  type Consent,
  type Counterparty,
  type Operation,
  operations,
  type Payment,
} from '../../src/policies/consent.ts';
import { policies } from '../../src/policies/feature.ts';
import type { Way } from '../../src/policies/way.ts';

const body = z.strictObject({
  asset: z.enum(holdings).default('USDC'),
  /** In the smallest unit. */
  atomic: z.coerce.bigint(),
  account: z.coerce.bigint().optional(),
  address: z.string().optional(),
  shop: z.string().optional(),
  host: z.string().optional(),
  chains: z.array(z.enum(chainIds as [ChainId, ...ChainId[]])).default(['MATIC']),
});

type Bought = z.output<typeof body>;

function counterpartyOf({ account, address, shop, host }: Bought): Counterparty | undefined {
  if (account !== undefined) return { kind: 'account', accountId: account };
  if (address !== undefined) return { kind: 'address', address };
  if (shop !== undefined) return { kind: 'shop', domain: shop, owner: null };
  return host === undefined ? undefined : { kind: 'endpoint', host };
}

function paymentOf(operation: Operation, bought: Bought): Payment {
  const counterparty = counterpartyOf(bought);
  const amount = amountOf(bought.asset, bought.atomic);
  return { operation, amount, chains: bought.chains, ...(counterparty && { counterparty }) };
}

const ways: readonly Way[] = operations.map((operation) => ({
  operation,
  scope: 'pay',
  body,
  refusals: [],
  read: async (_: Caller, request: unknown) => ({ payment: paymentOf(operation, request as Bought) }),
}));

/** The policies, with ways whose requests say what the payment is. */
export const simplePolicies: typeof policies = {
  ...policies,
  routes: (parts, settings) => policies.routes?.({ ...parts, ways }, settings) ?? [],
};

/** A feature that asks for consent and posts, and does nothing else. */
export const till: Feature<{ serving: { readonly consent: Consent; readonly ledger: Ledger } }> = {
  name: 'till',
  chapters: [{ name: 'Till', description: 'Pay.' }],
  routes: ({ consent, ledger }) => [
    defineRoute(
      {
        id: 'payAtTill',
        method: 'POST',
        path: '/till/:operation',
        tag: 'Till',
        summary: 'Pay',
        auth: 'key',
        scope: 'pay',
        params: z.strictObject({ operation: z.enum(operations) }),
        body,
        returns: { 200: { description: 'Paid', schema: z.object({ paid: z.literal(true) }), example: { paid: true } } },
      },
      async ({ caller, params: { operation }, body: bought }) => {
        const payment = paymentOf(operation, bought);
        const authority = await consent.forPayment(caller, payment);
        const { asset, atomic } = payment.amount;
        const outcome = await ledger.post({
          type: bought.account === undefined ? 'till' : 'transfer',
          amount: payment.amount,
          senderId: caller.accountId,
          ...(bought.account !== undefined && { recipientId: bought.account }),
          keyId: caller.keyId,
          authority,
          entries: [
            { account: userAccount(caller.accountId, asset), atomic: -atomic },
            {
              account:
                bought.account === undefined ? houseAccount('surplus', asset) : userAccount(bought.account, asset),
              atomic,
            },
          ],
        });
        requirePosted(outcome, 'a payment at the till');
        return ok({ paid: true as const });
      },
    ),
  ],
};
