import { z } from 'zod';
import { defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import { httpErrors } from '../../kernel/http/errors.ts';
import { lockCredential, markRedeemed } from './credential.ts';
import { credentialErrors } from './errors.ts';
import { domainsOf, type IdentifyParts } from './identify-shop.ts';

const redeemBody = z.strictObject({
  token: z.string().min(1).max(200),
  checkout_id: z.string().min(1).max(500),
  amount: z.number().int().positive().meta({ description: 'In the smallest unit of the currency, such as cents.' }),
  currency: z.string().regex(/^[A-Z]{3}$/, 'must be a currency such as USD'),
});

const redemption = z.object({
  status: z.literal('redeemed'),
  order_id: z.string(),
  checkout_id: z.string(),
  amount: z.number(),
  currency: z.string(),
  void_at: z.iso.datetime().nullable().meta({
    description:
      'If the checkout is not completed by then, the order is void, the buyer is refunded, and the shop must not ship.',
  }),
});

/** Follows UCP conventions: snake_case names, amounts in minor units. */
export function redeemRoute(parts: IdentifyParts): Route {
  return defineRoute(
    {
      id: 'redeemCredential',
      method: 'POST',
      path: '/shopping/credentials/redeem',
      tag: 'Selling',
      summary: 'Redeem a payment credential',
      description:
        'For shops, while they complete a checkout. Sign the request (RFC 9421) with a key of the shop’s UCP profile, named by the header `UCP-Agent: profile="…"`, or send the API key of the account that proved the domain. The redeemed amount is held for this checkout and paid to the shop when the checkout completes. If the credential of a completed checkout is never redeemed, the shop is not paid, and the money is refunded when the credential expires. A checkout that is not completed by `void_at` is void: the buyer is refunded, and the shop must not ship. A credential can be redeemed once; a retry with the same Idempotency-Key returns the same response. Signed requests count against the rate limit of the shop’s domain, 600 a minute unless the operator set another, and not against the IP address.',
      auth: 'none',
      scopeOfKey: 'pay',
      countsThemselves: ['signature'],
      body: redeemBody,
      examples: {
        body: { token: 'pwc_8fKq0ZtR7nXv2bLmW9cYsD1e', checkout_id: 'chk_1', amount: 2400, currency: 'USD' },
      },
      returns: {
        200: {
          description: 'The amount is held for this checkout',
          schema: redemption,
          example: {
            status: 'redeemed',
            order_id: 'ord_01kp3v2m8rfk2s6y0e6v9q4w1x',
            checkout_id: 'chk_1',
            amount: 2400,
            currency: 'USD',
            void_at: '2026-01-16T10:15:00.000Z',
          },
        },
      },
      errors: Object.values(credentialErrors),
    },
    async ({ body, caller, received, count }) => {
      const { domains, forgiveAddress } = await domainsOf(parts, caller, received, count);
      const key = keyOf(received.headers['idempotency-key']);
      const answer = await parts.db.transaction((tx) => redeem(tx, { ...body, domains, key }));
      await forgiveAddress();
      return ok(answer);
    },
  );
}

function keyOf(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (typeof header !== 'string' || !/^[\x20-\x7e]{1,255}$/.test(header)) {
    throw httpErrors.invalid_request('Idempotency-Key must be 1 to 255 printable ASCII characters.');
  }
  return header;
}

interface Redemption extends z.output<typeof redeemBody> {
  readonly domains: readonly string[];
  readonly key: string | undefined;
}

async function redeem(tx: Parameters<typeof lockCredential>[0], asked: Redemption) {
  const known = await lockCredential(tx, asked.token);
  // A credential of another shop, or of a former owner of the domain, looks like one that was never issued.
  if (known === undefined || !asked.domains.includes(known.domain) || known.changedHands) {
    throw credentialErrors.credential_unknown();
  }
  const mismatched = [
    ...(known.checkoutId === asked.checkout_id ? [] : ['checkout_id']),
    ...(known.minor === BigInt(asked.amount) ? [] : ['amount']),
    ...(known.currency === asked.currency ? [] : ['currency']),
  ];
  if (mismatched.length > 0) throw credentialErrors.credential_mismatch(undefined, { members: { mismatched } });
  const answer = {
    status: 'redeemed' as const,
    order_id: known.orderId,
    checkout_id: known.checkoutId,
    amount: asked.amount,
    currency: known.currency,
    void_at: known.voidAt?.toISOString() ?? null,
  };
  // Even if the shop has redeemed it: a checkout not completed by now must not be shipped.
  if (known.isVoid) throw credentialErrors.credential_void();
  if (known.isRedeemed) {
    if (asked.key !== undefined && asked.key === known.redeemKey) return answer;
    throw credentialErrors.credential_redeemed();
  }
  if (known.isOver) throw credentialErrors.credential_void();
  await markRedeemed(tx, known.orderId, asked.key);
  return answer;
}
