import { z } from 'zod';
import type { Queryable } from '../../kernel/db/database.ts';
import type { Problem } from '../../kernel/http/problem.ts';
import { untrusted } from '../../kernel/http/untrusted.ts';
import { toJsonNumber } from '../../money/amount.ts';
import { chains, homeChain } from '../../money/catalogue.ts';
import { networkName } from '../wire/networks.ts';
import { receipt } from '../wire/receipt.ts';
import type { SellerAnswer } from './ask-seller.ts';
import { encodeBody } from './encode-body.ts';
import { purchaseErrors } from './errors.ts';
import { type Purchase, takenFor } from './purchase.ts';
import { publicStatus, publicStatuses } from './saga.ts';
import { namedTransaction } from './send-payment.ts';

/** What the seller has sent. */
const sellerAnswer = z.object({
  status: z.int().meta({ description: 'The seller’s.' }),
  headers: z
    .record(z.string(), z.union([z.string(), z.array(z.string())]))
    .meta({ description: 'The seller’s, in lower case; a list where one came several times.', 'x-untrusted': true }),
  body: untrusted,
  encoding: z
    .enum(['utf8', 'base64'])
    .meta({ description: 'How `body` is written: text as it is, other bytes in base64.' }),
  truncated: z.boolean().meta({
    description:
      'Whether this is only the beginning of the body: it was longer than 1 MiB, or less of it was kept for the same request again.',
  }),
});

const saidReceipt = receipt
  .nullable()
  .meta({ description: 'What the seller says of the payment, if it says anything.', 'x-untrusted': true });

const payment = z.object({
  id: z.string(),
  amount: z.number(),
  fee: z
    .number()
    .meta({ description: 'Ours, beside the amount: 1.49 % of what you pay to sellers within 24 hours above 10 USDC.' }),
  currency: z.literal('USDC'),
  network: z.string().nullable().meta({ description: 'In the words of x402. Null for what we sell ourselves.' }),
  payTo: z.string().nullable(),
  nonce: z.string().nullable().meta({ description: 'Of the authorization (EIP-3009) that the seller was given.' }),
  transaction: z.string().nullable().meta({ description: 'As the seller names it.' }),
  receipt: saidReceipt,
  statusUrl: z.string().nullable().meta({ description: 'Where to see whether the seller has taken it.' }),
});

export const payAnswer = sellerAnswer.extend({
  paid: z.number().meta({
    description:
      'What has left your balance for it, in USDC, the fee included. If the seller never takes it, it comes back: `payment.statusUrl` tells.',
  }),
  payment: payment.nullable().meta({ description: 'Null when nothing had to be paid.' }),
});
export type PayAnswer = z.input<typeof payAnswer>;

/** One as it is listed. */
export const purchaseRecord = z.object({
  id: z.string(),
  status: z.enum(publicStatuses).meta({
    description:
      '`pending` while the amount is held, `paid` once the chain shows that the seller has taken it, `returned` when it can be taken no more.',
  }),
  method: z.string(),
  url: z.string(),
  amount: z.number(),
  fee: z.number().meta({
    description:
      'Ours, beside the amount: 1.49 % of what you pay to sellers within 24 hours above 10 USDC, as charged when it was opened.',
  }),
  feeReturned: z.number().meta({
    description: 'What of the fee came back, because this purchase or another one of the same 24 hours was returned.',
  }),
  currency: z.literal('USDC'),
  network: z.string(),
  payTo: z.string(),
  nonce: z.string(),
  sellerStatus: z.int().nullable().meta({ description: 'What the seller has answered.' }),
  sellerTrouble: z
    .enum(['timeout', 'unreachable', 'lost'])
    .nullable()
    .meta({ description: 'Why there is no answer of the seller.' }),
  receipt: saidReceipt,
  txHash: z.string().nullable().meta({ description: 'The transaction that took the payment, as the chain has it.' }),
  explorerUrl: z.string().nullable(),
  error: z.string().nullable().meta({ description: 'Why the amount came back.' }),
  expiresAt: z.iso.datetime().meta({ description: 'From then on the seller cannot take the payment any more.' }),
  createdAt: z.iso.datetime(),
  finishedAt: z.iso.datetime().nullable(),
});

/** One by itself, with what the seller has sent as long as that is kept. */
export const purchaseDetail = purchaseRecord.extend({
  answer: sellerAnswer.nullable().meta({ description: 'What the seller has sent. Kept for two days.' }),
});

const exampleHash = '0x2f1c5c2b44f771e942a8506148e256f94f1a464babc938ae0690c6e34cd79190';
const exampleNonce = '0xf3746613c2d920b5fdabc0856f2aeb2d4f88ee6037b8cc5d04a71a4462f13480';
const examplePayTo = '0x209693Bc6afc0C5328bA36FaF03C514EF312287C';
const exampleReceipt = { success: true, transaction: exampleHash, network: 'eip155:137' };

const exampleAnswer = {
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: '{"city":"Lisbon","tomorrow":"sunny"}',
  encoding: 'utf8',
  truncated: false,
} as const;

export const examplePurchase: z.input<typeof purchaseRecord> = {
  id: 'pur_01kp3v2m8rfk2s6y0e6v9q4w1x',
  status: 'paid',
  method: 'GET',
  url: 'https://api.example.com/forecast?city=Lisbon',
  amount: 0.01,
  fee: 0,
  feeReturned: 0,
  currency: 'USDC',
  network: 'eip155:137',
  payTo: examplePayTo,
  nonce: exampleNonce,
  sellerStatus: 200,
  sellerTrouble: null,
  receipt: exampleReceipt,
  txHash: exampleHash,
  explorerUrl: `https://polygonscan.com/tx/${exampleHash}`,
  error: null,
  expiresAt: '2026-01-15T10:01:00.000Z',
  createdAt: '2026-01-15T10:00:00.000Z',
  finishedAt: '2026-01-15T10:01:20.000Z',
};

export const exampleDetail: z.input<typeof purchaseDetail> = { ...examplePurchase, answer: exampleAnswer };

export const examplePaid: PayAnswer = {
  ...exampleAnswer,
  paid: 0.01,
  payment: {
    id: examplePurchase.id,
    amount: 0.01,
    fee: 0,
    currency: 'USDC',
    network: 'eip155:137',
    payTo: examplePayTo,
    nonce: exampleNonce,
    transaction: exampleHash,
    receipt: exampleReceipt,
    statusUrl: `https://pay.example.com/api/nano/purchases/${examplePurchase.id}`,
  },
};

type Sent = z.input<typeof sellerAnswer>;

function describeAnswer(answer: SellerAnswer): Sent {
  const { status, headers, truncated } = answer;
  return { status, headers: { ...headers }, ...encodeBody(answer), truncated };
}

/** Nothing had to be paid. */
export function describeFree(answer: SellerAnswer): PayAnswer {
  return { ...describeAnswer(answer), paid: 0, payment: null };
}

/**
 * What the caller is told, from what never changes any more: the same however often it is asked for, as far as it is kept. A
 * seller that was given the payment and did not deliver is a problem, with everything that is known of it.
 */
export async function answerOf(
  db: Queryable,
  purchase: Purchase,
  { publicUrl, whole }: { readonly publicUrl: string; readonly whole?: SellerAnswer | undefined },
): Promise<PayAnswer | Problem> {
  const sent = whole === undefined ? await findAnswer(db, purchase) : describeAnswer(whole);
  const money = { paid: toJsonNumber(takenFor(purchase)), payment: describePayment(purchase, publicUrl) };
  if (sent === null) return purchaseErrors.seller_silent(undefined, { members: money });
  if (sent.status === 402) return purchaseErrors.payment_refused(undefined, { members: { answer: sent, ...money } });
  if (sent.status >= 400) return purchaseErrors.seller_failed(undefined, { members: { answer: sent, ...money } });
  return { ...sent, ...money };
}

/** Null when there is none, or it is no longer kept. */
export async function findAnswer(db: Queryable, { id, sellerStatus }: Purchase): Promise<Sent | null> {
  const { rows } = await db.query<{ headers: string; body: Buffer; truncated: boolean }>(
    'SELECT headers, body, truncated FROM purchase_answers WHERE purchase_id = $1',
    [id],
  );
  const [row] = rows;
  if (row === undefined || sellerStatus === null) return null;
  const headers = JSON.parse(row.headers) as SellerAnswer['headers'];
  return describeAnswer({ status: sellerStatus, headers, body: row.body, truncated: row.truncated });
}

function describePayment(purchase: Purchase, publicUrl: string): z.input<typeof payment> {
  const { id, amount, fee, payTo, nonce, receipt: said } = purchase;
  return {
    id,
    amount: toJsonNumber(amount),
    fee: toJsonNumber(fee),
    currency: 'USDC',
    network: networkName(homeChain, 2),
    payTo,
    nonce,
    transaction: namedTransaction(purchase) ?? null,
    receipt: said,
    statusUrl: `${publicUrl}/api/nano/purchases/${id}`,
  };
}

export function describePurchase(purchase: Purchase): z.input<typeof purchaseRecord> {
  const { amount, fee, feeReturned, txHash } = purchase;
  return {
    id: purchase.id,
    status: publicStatus(purchase.status),
    method: purchase.method,
    url: purchase.url,
    amount: toJsonNumber(amount),
    fee: toJsonNumber(fee),
    feeReturned: toJsonNumber(feeReturned),
    currency: 'USDC',
    network: networkName(homeChain, 2),
    payTo: purchase.payTo,
    nonce: purchase.nonce,
    sellerStatus: purchase.sellerStatus,
    sellerTrouble: purchase.sellerTrouble,
    receipt: purchase.receipt,
    txHash,
    explorerUrl: txHash && `${chains[homeChain].explorer}/tx/${txHash}`,
    error: purchase.error,
    expiresAt: new Date(Number(purchase.validBefore) * 1_000).toISOString(),
    createdAt: purchase.createdAt.toISOString(),
    finishedAt: purchase.finishedAt?.toISOString() ?? null,
  };
}
