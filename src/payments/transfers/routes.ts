import { z } from 'zod';
import type { Queryable } from '../../kernel/db/database.ts';
import { amountField, currency, requireAmount } from '../../kernel/http/amount-field.ts';
import { type Caller, defineRoute, type IdempotencyClaim, ok, type Route } from '../../kernel/http/define-route.ts';
import type { DuplicateGuard } from '../../kernel/http/duplicate-guard.ts';
import { moves, reads } from '../../kernel/http/tool.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { newestTransferLike } from '../../ledger/newest-like.ts';
import { findEarlier } from '../../ledger/post-batch.ts';
import type { Authority, IdempotencyScope, Posted } from '../../ledger/posting.ts';
import { type Amount, subtract, toJsonNumber } from '../../money/amount.ts';
import type { Currency } from '../../money/catalogue.ts';
import { transferFee, transferFeeRate } from '../../money/fees.ts';
import { askedOwner } from '../../policies/approvals/asks.ts';
import { type Consent, guarded } from '../../policies/consent.ts';
import { paymentRefusals } from '../../policies/refusals.ts';
import { type BalanceParts, balanceRoutes } from './balance-routes.ts';
import { type RecipientBook, recipientOrRefuse } from './recipient.ts';
import { type CompletedTransfer, completeOrRefuse, transferPosting } from './transfer-posting.ts';
import { findRecipient, paymentTo, to, transferBody, transferRefusals } from './way.ts';

interface TransferRequest {
  readonly caller: Caller;
  readonly to: string;
  readonly amount: Amount;
  readonly description: string | undefined;
  readonly idempotency: IdempotencyClaim | undefined;
  readonly guard: DuplicateGuard | undefined;
}

/** Resolve the recipient → ask the policies → post. When this returns, the money has moved. */
async function createTransfer(
  { db, ledger, recipients, consent }: TransferParts,
  { caller, to: whom, amount, description, idempotency: claim, guard }: TransferRequest,
): Promise<CompletedTransfer> {
  const { accountId: senderId, keyId } = caller;
  const idempotency = claim && { ...claim, accountId: senderId };
  const recipient = recipientOrRefuse(whom);
  let recipientId: bigint;
  let authority: Authority;
  try {
    // Most recipients are known and most accounts have no policies, so most transfers wait for nothing here.
    const found = findRecipient(recipients, caller, recipient);
    recipientId = found instanceof Promise ? await found : found;
    const like = { senderId, recipientId, amount, hasReference: false };
    const payment = guarded(paymentTo(recipientId, amount, description), {
      db,
      guard,
      newest: () => newestTransferLike(db, like),
    });
    const asked = consent.forPayment(caller, payment);
    authority = asked instanceof Promise ? await asked : asked;
  } catch (error) {
    return replayOrThrow(db, idempotency, error);
  }
  return completeOrRefuse(
    await ledger.post(
      transferPosting({ senderId, recipientId, amount, keyId, authority, description, idempotency, guard }),
    ),
  );
}

/**
 * A retry may come after the email or number moved to another account, or after the rules changed. It gets the outcome of the
 * first request, if there was one.
 */
async function replayOrThrow(
  db: Queryable,
  idempotency: IdempotencyScope | undefined,
  error: unknown,
): Promise<CompletedTransfer> {
  const earlier = idempotency && (await findEarlier(db, idempotency));
  if (earlier === undefined) throw error;
  return completeOrRefuse(earlier);
}

function describeTransfer({ id, amount, fee }: Posted) {
  return {
    transferId: id,
    status: 'complete' as const,
    amount: toJsonNumber(amount),
    fee: toJsonNumber(fee),
    recipientAmount: toJsonNumber(subtract(amount, fee)),
    currency: amount.asset as Currency,
  };
}

export interface TransferParts extends BalanceParts {
  readonly ledger: Ledger;
  readonly recipients: RecipientBook;
  readonly consent: Consent;
}

const exampleTransfer = {
  transferId: 'trf_01kp3v2m8rfk2s6y0e6v9q4w1x',
  status: 'complete' as const,
  amount: 50,
  fee: 0.75,
  recipientAmount: 49.25,
  currency: 'USDC' as const,
};

export function transferRoutes(parts: TransferParts): Route[] {
  return [
    quoteRoute(),
    transferRoute(parts, '/agent/transfer'),
    transferRoute(parts, '/circle/transfer'),
    ...balanceRoutes(parts),
  ];
}

function quoteRoute(): Route {
  return defineRoute(
    {
      id: 'quoteTransfer',
      method: 'GET',
      path: '/agent/transfer/quote',
      tag: 'Transfers',
      summary: 'Quote a transfer',
      tool: { name: 'quote_fee', title: 'Quote the fee of a transfer', hints: reads },
      description: 'No API key is required. The quote does not reveal whether the recipient exists.',
      auth: 'none',
      query: z.strictObject({
        to,
        amount: amountField,
        currency: currency.default('USDC'),
      }),
      examples: { query: { to: 'PA-7K2M9QXA', amount: '50', currency: 'USDC' } },
      returns: {
        200: {
          description: 'The fee and the amount that arrives',
          schema: z.object({
            amount: z.number(),
            fee: z.number(),
            feeRate: z.string(),
            recipientReceives: z.number(),
            currency,
          }),
          example: { amount: 50, fee: 0.75, feeRate: '1.49%', recipientReceives: 49.25, currency: 'USDC' },
        },
      },
    },
    async ({ query }) => {
      // An unescaped + in a query arrives as a space. A quote moves no money, so the space is read as the + that was meant.
      recipientOrRefuse(query.to.replace(/^ (?=\d)/, '+'));
      const amount = requireAmount(query.currency, query.amount);
      const fee = transferFee(amount);
      return ok({
        amount: toJsonNumber(amount),
        fee: toJsonNumber(fee),
        feeRate: transferFeeRate,
        recipientReceives: toJsonNumber(subtract(amount, fee)),
        currency: query.currency,
      });
    },
  );
}

function transferRoute(parts: TransferParts, path: '/agent/transfer' | '/circle/transfer'): Route {
  return defineRoute(
    {
      id: path === '/agent/transfer' ? 'createTransfer' : 'createCircleTransfer',
      method: 'POST',
      path,
      tag: 'Transfers',
      summary: path === '/agent/transfer' ? 'Create a transfer' : 'Create a transfer (alias)',
      ...(path === '/agent/transfer' && { tool: { name: 'send_money', title: 'Send money', hints: moves } }),
      description:
        'Transfers money to another account. The fee of 1.49 %, rounded to cents, is deducted from the amount. The transfer is complete when the response arrives. Send an Idempotency-Key, so that a retry after a lost connection never pays twice.',
      auth: 'key',
      scope: 'pay',
      body: transferBody,
      examples: { body: { to: 'PA-7K2M9QXA', amount: 50, currency: 'USDC' } },
      idempotent: true,
      guarded: true,
      returns: {
        200: {
          description: 'The transfer is complete',
          schema: z.object({
            transferId: z.string(),
            status: z.literal('complete'),
            amount: z.number().meta({ description: 'The amount taken from your balance.' }),
            fee: z.number(),
            recipientAmount: z
              .number()
              .meta({ description: 'The amount the recipient received: `amount` minus `fee`.' }),
            currency,
          }),
          example: exampleTransfer,
        },
      },
      asks: askedOwner,
      errors: [...transferRefusals, ...paymentRefusals],
    },
    async ({ caller, body, idempotency, guard }) => {
      const amount = requireAmount(body.currency, body.amount);
      const { posting, replayed } = await createTransfer(parts, {
        caller,
        to: body.to,
        amount,
        description: body.description,
        idempotency,
        guard,
      });
      const answer = ok(describeTransfer(posting));
      return replayed ? { ...answer, replayed } : answer;
    },
  );
}
