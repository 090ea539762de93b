import { z } from 'zod';
import { chains } from '../../money/catalogue.ts';
import { terms1 } from '../wire/messages.ts';
import type { Call } from './calls.ts';
import { type Price, paymentRequired } from './terms.ts';

const required = z.object({
  x402Version: z.literal(1),
  error: z.string().meta({ description: 'Why no payment was accepted, as an x402 error code.' }),
  detail: z.string().optional(),
  accepts: z.array(terms1),
});

/** It is not certain yet whether the payment has moved. The client must not pay again. */
export const pendingAnswer = z.object({
  status: z.literal('settlement_pending'),
  paymentId: z.string(),
  transaction: z.string(),
  statusUrl: z.string(),
});

export const examplePayer = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359';

export const examplePrice = {
  token: chains.MATIC.tokens.USDC,
  domain: { name: 'USD Coin', version: '2' },
  payTo: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
} as const;

/** What something that is paid for with x402 can be answered with. */
export function paidAnswers<Schema extends z.ZodType>({
  answer,
  call,
  price,
}: {
  readonly answer: { readonly description: string; readonly schema: Schema; readonly example: unknown };
  readonly call: Call;
  readonly price: Price;
}) {
  return {
    200: answer,
    202: {
      description:
        'The payment is not confirmed yet. Send the same request with the same payment again later; do not create a new payment.',
      schema: pendingAnswer,
      example: {
        status: 'settlement_pending',
        paymentId: 'npy_01kp3v2m8rfk2s6y0e6v9q4w1x',
        transaction: '',
        statusUrl: 'https://pay.example.com/api/nano/payments/npy_01kp3v2m8rfk2s6y0e6v9q4w1x',
      },
    },
    402: {
      description:
        'Payment required. The body has the x402 version 1 terms, the header `PAYMENT-REQUIRED` the version 2 terms',
      schema: required,
      example: paymentRequired(price, call, `https://pay.example.com/api${call.path}`).body,
    },
  } as const;
}
