import { z } from 'zod';
import type { Clock } from '../../../../kernel/clock.ts';
import { parseJsonBody } from '../../../../kernel/http/parse-body.ts';
import { expandExponent } from '../../../../money/amount.ts';
import type { CardState, CardUpdate, Notice } from '../../on-ramp.ts';
import { plainReason, readSignatureHeader, requireFresh, requireHmac } from '../signatures.ts';

const notice = z.object({
  type: z.enum(['transaction_created', 'transaction_updated', 'transaction_failed']),
  data: z.object({
    id: z.string().min(1).max(200),
    status: z.string(),
    externalTransactionId: z.string().max(64),
    quoteCurrencyAmount: z.number().nullish(),
    currency: z.object({ code: z.string() }).nullish(),
    walletAddress: z.string().nullish(),
    failureReason: z.string().nullish(),
  }),
});

/** The signature covers the time and the body. Undefined when the notice is not about a payment that we started. */
export function readMoonPayNotice(
  { bytes, headers }: Notice,
  { webhookKey, clock }: { readonly webhookKey: string; readonly clock: Clock },
): CardUpdate | undefined {
  const parts = readSignatureHeader(headers, 'moonpay-signature-v2');
  const time = parts.get('t');
  requireHmac(webhookKey, [`${time}.`, bytes], parts.get('s'));
  requireFresh(clock, time);

  const parsed = notice.safeParse(parseJsonBody(bytes));
  if (!parsed.success) return undefined;
  const { id, externalTransactionId, quoteCurrencyAmount, currency, walletAddress, failureReason } = parsed.data.data;
  const state = stateOf(parsed.data.data.status);
  return {
    reference: externalTransactionId,
    paymentId: id,
    state,
    amount: typeof quoteCurrencyAmount === 'number' ? expandExponent(String(quoteCurrencyAmount)) : undefined,
    asset: currency?.code.split('_')[0]?.toUpperCase(),
    address: walletAddress ?? undefined,
    ...(state === 'failed' && { reason: plainReason(failureReason) }),
  };
}

function stateOf(status: string): CardState {
  if (status === 'completed') return 'sent';
  return status === 'failed' ? 'failed' : 'pending';
}
