import { z } from 'zod';
import type { Clock } from '../../../../kernel/clock.ts';
import { parseJsonBody } from '../../../../kernel/http/parse-body.ts';
import { type CardState, type CardUpdate, InvalidSignature, type Notice } from '../../on-ramp.ts';
import { plainReason, readSignatureHeader, requireFresh, requireHmac } from '../signatures.ts';

const amount = z.union([
  z.string().transform((value) => ({ value, currency: undefined })),
  z.object({ value: z.string(), currency: z.string().optional() }),
]);

const transaction = z.object({
  eventType: z.string(),
  transactionId: z.string().min(1).max(200),
  partnerUserRef: z.string().max(64),
  purchaseCurrency: z.string().optional(),
  purchaseAmount: amount.optional(),
  walletAddress: z.string().optional(),
  failureReason: z.string().nullish(),
});

const states: Readonly<Record<string, CardState>> = {
  'onramp.transaction.created': 'pending',
  'onramp.transaction.updated': 'pending',
  'onramp.transaction.success': 'sent',
  'onramp.transaction.failed': 'failed',
};

/** The signature covers the time, the named headers and the body. Undefined when it is not about a payment. */
export function readCoinbaseNotice(
  { bytes, headers }: Notice,
  { webhookSecret, clock }: { readonly webhookSecret: string; readonly clock: Clock },
): CardUpdate | undefined {
  const parts = readSignatureHeader(headers, 'x-hook0-signature');
  const [time, names] = [parts.get('t'), parts.get('h')];
  if (names === undefined) throw new InvalidSignature('the list of signed headers is missing');
  const values = names.split(' ').map((name) => headers[name.toLowerCase()] ?? '');
  requireHmac(webhookSecret, [`${time}.${names}.${values.join('.')}.`, bytes], parts.get('v1'));
  requireFresh(clock, time);

  const parsed = transaction.safeParse(parseJsonBody(bytes));
  const state = parsed.success ? states[parsed.data.eventType] : undefined;
  if (!parsed.success || state === undefined) return undefined;
  const { partnerUserRef, transactionId, purchaseAmount, purchaseCurrency, walletAddress, failureReason } = parsed.data;
  return {
    reference: partnerUserRef,
    paymentId: transactionId,
    state,
    amount: purchaseAmount?.value,
    asset: purchaseCurrency?.toUpperCase(),
    address: walletAddress,
    ...(state === 'failed' && { reason: plainReason(failureReason) }),
  };
}
