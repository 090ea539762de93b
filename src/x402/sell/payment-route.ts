import { getAddress } from 'viem';
import { z } from 'zod';
import type { Queryable } from '../../kernel/db/database.ts';
import { defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import { toDecimalText } from '../../money/amount.ts';
import { networkName } from '../wire/networks.ts';
import { type Claim, findClaim } from './claim.ts';
import { nanoErrors } from './errors.ts';

const statuses = ['processing', 'settlement_pending', 'settled', 'written_off', 'lapsed'] as const;

const payment = z.object({
  id: z.string(),
  status: z.enum(statuses).meta({
    description:
      '`processing`: the call is being served. `settlement_pending`: the payment is being settled on chain. `settled`: the payment has arrived. `written_off`: the call was served but the payment never arrived. `lapsed`: the call was not served and the payment can no longer be charged.',
  }),
  served: z.boolean().meta({ description: 'Whether the call was served. If not, send the same request again.' }),
  operation: z.string(),
  amount: z.string(),
  currency: z.string(),
  network: z.string(),
  payer: z.string(),
  payTo: z.string(),
  transaction: z.string().nullable().meta({ description: 'The transaction that settled or is to settle the payment.' }),
  createdAt: z.iso.datetime(),
  settledAt: z.iso.datetime().nullable(),
});

export function paymentRoute(db: Queryable): Route {
  return defineRoute(
    {
      id: 'getNanoPayment',
      method: 'GET',
      path: '/nano/payments/:id',
      tag: 'Nano',
      summary: 'Retrieve a payment',
      description: 'The id is the `paymentId` of the receipt. No API key is required.',
      auth: 'none',
      params: z.strictObject({ id: z.string().max(64) }),
      examples: { params: { id: 'npy_01kp3v2m8rfk2s6y0e6v9q4w1x' } },
      returns: {
        200: {
          description: 'The payment',
          schema: payment,
          example: {
            id: 'npy_01kp3v2m8rfk2s6y0e6v9q4w1x',
            status: 'settled',
            served: true,
            operation: 'nanoQuote',
            amount: '0.0001',
            currency: 'USDC',
            network: 'eip155:137',
            payer: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
            payTo: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
            transaction: `0x${'5c'.repeat(32)}`,
            createdAt: '2026-05-01T12:00:00.000Z',
            settledAt: '2026-05-01T12:00:06.000Z',
          },
        },
      },
      errors: [nanoErrors.payment_not_found],
    },
    async ({ params: { id } }) => {
      const claim = await findClaim(db, id);
      if (claim === undefined) throw nanoErrors.payment_not_found();
      return ok(describePayment(claim));
    },
  );
}

function describePayment(claim: Claim): z.input<typeof payment> {
  const { authorization, amount } = claim;
  return {
    id: claim.id,
    status: statusOf(claim),
    served: claim.servedAt !== null,
    operation: claim.resource,
    amount: toDecimalText(amount),
    currency: amount.asset,
    network: networkName(claim.chain, 2),
    payer: getAddress(authorization.from),
    payTo: getAddress(authorization.to),
    transaction: claim.pendingHash,
    createdAt: claim.claimedAt.toISOString(),
    settledAt: claim.arrivedAt?.toISOString() ?? null,
  };
}

function statusOf({ arrivedAt, writtenOffAt, lapsedAt, servedAt, prepaid }: Claim): (typeof statuses)[number] {
  if (arrivedAt !== null) return 'settled';
  if (writtenOffAt !== null) return 'written_off';
  if (lapsedAt !== null) return 'lapsed';
  return servedAt !== null || prepaid ? 'settlement_pending' : 'processing';
}
