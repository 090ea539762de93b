import { z } from 'zod';
import type { Queryable } from '../../kernel/db/database.ts';
import type { Problem } from '../../kernel/http/problem.ts';
import { untrusted } from '../../kernel/http/untrusted.ts';
import { toJsonNumber } from '../../money/amount.ts';
import { chains, homeChain } from '../../money/catalogue.ts';
import { networkName, receipt } from '../wire/messages.ts';
import type { SellerAnswer } from './ask-seller.ts';
import { encodeBody } from './encode-body.ts';
import { purchaseErrors } from './errors.ts';
import { type Purchase, takenFor } from './purchase.ts';
import { publicStatus, publicStatuses } from './saga.ts';
import { namedTransaction } from './send-payment.ts';

const sellerAnswer = z.object({
  status: z.int().meta({ description: 'The status of the seller’s response.' }),
  headers: z.record(z.string(), z.union([z.string(), z.array(z.string())])).meta({
    description: 'The headers of the seller’s response, with names in lower case; an array if a header was repeated.',
    'x-untrusted': true,
  }),
  body: untrusted,
  encoding: z
    .enum(['utf8', 'base64'])
    .meta({ description: 'The encoding of `body`: plain text, or base64 for binary data.' }),
  truncated: z.boolean().meta({
    description: 'Whether the body was cut: it exceeds 1 MiB, or less of it was stored for retries.',
  }),
});

const saidReceipt = receipt
  .nullable()
  .meta({ description: 'The seller’s own receipt for the payment, if it sent one.', 'x-untrusted': true });

const payment = z.object({
  id: z.string(),
  amount: z.number(),
  fee: z.number().meta({
    description: 'Our fee on top of the amount: 1.49 % of payments to sellers above 10 USDC within 24 hours.',
  }),
  currency: z.literal('USDC'),
  network: z.string().nullable().meta({ description: 'The x402 network name. Null for our own paid endpoints.' }),
  payTo: z.string().nullable(),
  nonce: z
    .string()
    .nullable()
    .meta({ description: 'The nonce of the EIP-3009 authorization that the seller received.' }),
  transaction: z.string().nullable().meta({ description: 'The transaction hash as reported by the seller.' }),
  receipt: saidReceipt,
  statusUrl: z
    .string()
    .nullable()
    .meta({ description: 'Poll this URL to see whether the seller has collected the payment.' }),
});

export const payResponse = sellerAnswer.extend({
  paid: z.number().meta({
    description:
      'The amount taken from your balance in USDC, including the fee. It is refunded if the seller never collects it; see `payment.statusUrl`.',
  }),
  payment: payment.nullable().meta({ description: 'Null if the call was free.' }),
});
export type PayResponse = z.input<typeof payResponse>;

export const purchaseRecord = z.object({
  id: z.string(),
  status: z.enum(publicStatuses).meta({
    description:
      '`pending`: the amount is held. `paid`: the chain shows that the seller collected it. `returned`: the payment expired and the amount was refunded.',
  }),
  method: z.string(),
  url: z.string(),
  amount: z.number(),
  fee: z.number().meta({
    description:
      'Our fee on top of the amount, as charged initially: 1.49 % of payments to sellers above 10 USDC within 24 hours.',
  }),
  feeReturned: z.number().meta({
    description:
      'The part of the fee that was refunded because this purchase, or another one in the same 24 hours, was returned.',
  }),
  currency: z.literal('USDC'),
  network: z.string(),
  payTo: z.string(),
  nonce: z.string(),
  sellerStatus: z.int().nullable().meta({ description: 'The status of the seller’s response.' }),
  sellerTrouble: z
    .enum(['timeout', 'unreachable', 'lost'])
    .nullable()
    .meta({ description: 'Why there is no response from the seller.' }),
  receipt: saidReceipt,
  txHash: z.string().nullable().meta({ description: 'The on-chain transaction that collected the payment.' }),
  explorerUrl: z.string().nullable(),
  error: z.string().nullable().meta({ description: 'Why the amount was refunded.' }),
  expiresAt: z.iso
    .datetime()
    .meta({ description: 'When the payment expires. The seller cannot collect it afterwards.' }),
  createdAt: z.iso.datetime(),
  finishedAt: z.iso.datetime().nullable(),
});

export const purchaseDetail = purchaseRecord.extend({
  answer: sellerAnswer.nullable().meta({ description: 'The seller’s response, kept for two days.' }),
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

export const examplePaid: PayResponse = {
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

export function describeFree(answer: SellerAnswer): PayResponse {
  return { ...describeAnswer(answer), paid: 0, payment: null };
}

/**
 * Built only from data that no longer changes, so that every idempotent replay returns the same response while it is stored. If the
 * seller received the payment but did not deliver, the result is a problem that includes the payment.
 */
export async function answerOf(
  db: Queryable,
  purchase: Purchase,
  { publicUrl, whole }: { readonly publicUrl: string; readonly whole?: SellerAnswer | undefined },
): Promise<PayResponse | Problem> {
  const sent = whole === undefined ? await findAnswer(db, purchase) : describeAnswer(whole);
  const money = { paid: toJsonNumber(takenFor(purchase)), payment: describePayment(purchase, publicUrl) };
  if (sent === null) return purchaseErrors.seller_silent(undefined, { members: money });
  if (sent.status === 402) return purchaseErrors.payment_refused(undefined, { members: { answer: sent, ...money } });
  if (sent.status >= 400) return purchaseErrors.seller_failed(undefined, { members: { answer: sent, ...money } });
  return { ...sent, ...money };
}

/** Null if there was none or it is no longer stored. */
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
  const { amount, fee, feeReturned, id, method, url, payTo, nonce, sellerStatus, sellerTrouble, txHash, error } =
    purchase;
  const same = { id, method, url, payTo, nonce, sellerStatus, sellerTrouble, receipt: purchase.receipt, txHash, error };
  return {
    ...same,
    status: publicStatus(purchase.status),
    amount: toJsonNumber(amount),
    fee: toJsonNumber(fee),
    feeReturned: toJsonNumber(feeReturned),
    currency: 'USDC',
    network: networkName(homeChain, 2),
    explorerUrl: txHash && `${chains[homeChain].explorer}/tx/${txHash}`,
    expiresAt: new Date(Number(purchase.validBefore) * 1_000).toISOString(),
    createdAt: purchase.createdAt.toISOString(),
    finishedAt: purchase.finishedAt?.toISOString() ?? null,
  };
}
