import { z } from 'zod';
import { amountValue, toAmountValue } from '../../kernel/http/amount-field.ts';
import type { Outgoing } from '../../kernel/outgoing/outgoing.ts';
import type { Posted } from '../../ledger/posting.ts';
import { readWebsite, type Website } from '../search/website.ts';
import { proofFor } from './fetch-proof.ts';
import type { OwnMerchant } from './find-merchant.ts';

export const merchantResponse = z.object({
  domain: z.string(),
  status: z.enum(['unproved', 'enabled', 'disabled']).meta({
    description: '`unproved` until the proof is found. `disabled` by the operator, who alone can enable it again.',
  }),
  proof: z
    .object({
      url: z.string().meta({ description: 'The URL at which to publish the file.' }),
      content: z.string().meta({ description: 'A line that the plain-text file must contain.' }),
    })
    .nullable()
    .meta({ description: 'Null if the operator assigned the domain to you.' }),
  ordersUrl: z
    .string()
    .nullable()
    .meta({ description: 'The URL that receives orders. Null if the site accepts them only over UCP.' }),
  signed: z.boolean().meta({ description: 'Whether orders are signed with a secret. The secret is not shown again.' }),
  createdAt: z.iso.datetime(),
  provedAt: z.iso.datetime().nullable(),
});

export const newMerchantResponse = merchantResponse.extend({
  ordersSecret: z.string().meta({
    description: 'Signs requests to `ordersUrl` in the same way as webhooks. It is shown only once: store it.',
  }),
});

export const provedMerchantResponse = merchantResponse.extend({
  redeemed: z
    .array(z.object({ amount: amountValue, currency: z.string(), chain: z.string(), transferId: z.string() }))
    .meta({ description: 'Amounts that were owed to the domain and are now in your balance.' }),
});

type MerchantAnswer = z.input<typeof merchantResponse>;

export const exampleMerchant = {
  domain: 'shop.example',
  status: 'unproved',
  proof: {
    url: 'https://shop.example/.well-known/paywright-merchant.txt',
    content: 'paywright-merchant PA-7K2M9QXA 4fKq0ZtR7nXv2bLmW9cYsD1eHj5Gp8Tu',
  },
  ordersUrl: 'https://shop.example/paywright/orders',
  signed: true,
  createdAt: '2026-01-15T10:00:00.000Z',
  provedAt: null,
} as const satisfies MerchantAnswer;

export const exampleProved = {
  ...exampleMerchant,
  status: 'enabled',
  provedAt: '2026-01-15T10:05:00.000Z',
} as const satisfies MerchantAnswer;

/** A sandbox may no longer list the domain in ALLOW_PRIVATE_HOSTS; then it is treated as a public site. */
function websiteOf(domain: string, outgoing: Pick<Outgoing, 'explainRefusal'>): Website {
  const read = readWebsite(domain, outgoing);
  return read.refusal === undefined ? read : { origin: `https://${domain}`, name: domain };
}

export function describeMerchant(
  merchant: OwnMerchant,
  { handle, outgoing }: { readonly handle: string; readonly outgoing: Pick<Outgoing, 'explainRefusal'> },
): MerchantAnswer {
  const { domain, status, token, ordersUrl, sealedSecret, createdAt, provedAt } = merchant;
  return {
    domain,
    status,
    proof: token === null ? null : proofFor(websiteOf(domain, outgoing), { handle, token }),
    ordersUrl,
    signed: sealedSecret !== null,
    createdAt: createdAt.toISOString(),
    provedAt: provedAt?.toISOString() ?? null,
  };
}

export function describeRedeemed({ id, amount, details }: Posted) {
  const { chain } = details as { readonly chain: string };
  return { amount: toAmountValue(amount), currency: amount.asset, chain, transferId: id };
}
