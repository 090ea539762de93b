import { z } from 'zod';
import { visibleText } from '../../accounts/fields.ts';
import { explainNotFound } from '../../accounts/find-account.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { amountField, currency, requireAmount } from '../../kernel/http/amount-field.ts';
import { type Caller, defineRoute, type IdempotencyClaim, ok, type Route } from '../../kernel/http/define-route.ts';
import { balanceErrors } from '../../ledger/balance-errors.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { findEarlier } from '../../ledger/post-batch.ts';
import type { Posted } from '../../ledger/posting.ts';
import { type Amount, subtract, toJsonNumber } from '../../money/amount.ts';
import type { Currency } from '../../money/catalogue.ts';
import { transferFee, transferFeeRate } from '../../money/fees.ts';
import { balanceRoutes } from './balance-routes.ts';
import { transferErrors } from './errors.ts';
import { type RecipientBook, recipientOrRefuse } from './recipient.ts';
import { type CompletedTransfer, completeOrRefuse, transferPosting } from './transfer-posting.ts';

interface TransferRequest {
  readonly caller: Caller;
  readonly to: string;
  readonly amount: Amount;
  readonly description: string | undefined;
  readonly idempotency: IdempotencyClaim | undefined;
}

/** Resolve the recipient → price → post. When this returns, the money has moved. */
async function createTransfer(
  { db, ledger, recipients }: { readonly db: Queryable; readonly ledger: Ledger; readonly recipients: RecipientBook },
  { caller, to, amount, description, idempotency: claim }: TransferRequest,
): Promise<CompletedTransfer> {
  const { accountId: senderId, keyId } = caller;
  const idempotency = claim && { ...claim, accountId: senderId };
  const recipient = recipientOrRefuse(to);
  const recipientId = await recipients.find(recipient);
  if (recipientId === undefined || recipientId === senderId) {
    // A retry may come after the email or number moved to another account. Replay the first outcome if there is one.
    const earlier = idempotency && (await findEarlier(db, idempotency));
    if (earlier !== undefined) return completeOrRefuse(earlier);
    if (recipientId !== undefined) throw transferErrors.self_transfer();
    throw transferErrors.recipient_not_found(explainNotFound(recipient));
  }

  return completeOrRefuse(
    await ledger.post(transferPosting({ senderId, recipientId, amount, keyId, description, idempotency })),
  );
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

export interface TransferParts {
  readonly db: Queryable;
  readonly ledger: Ledger;
  readonly recipients: RecipientBook;
}

const to = z.string().meta({ description: 'The handle, verified email or verified phone number of an account.' });

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
    ...balanceRoutes(parts.db),
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
      description:
        'Transfers money to another account. The fee of 1.49 %, rounded to cents, is deducted from the amount. The transfer is complete when the response arrives. Send an Idempotency-Key, so that a retry after a lost connection never pays twice.',
      auth: 'key',
      scope: 'pay',
      body: z.strictObject({
        to,
        amount: amountField,
        currency,
        description: visibleText(500).optional().meta({ description: 'Shown to both sides.' }),
      }),
      examples: { body: { to: 'PA-7K2M9QXA', amount: 50, currency: 'USDC' } },
      idempotent: true,
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
      errors: [
        transferErrors.recipient_not_found,
        balanceErrors.insufficient_balance,
        transferErrors.self_transfer,
        balanceErrors.account_frozen,
      ],
    },
    async ({ caller, body, idempotency }) => {
      const amount = requireAmount(body.currency, body.amount);
      const { posting, replayed } = await createTransfer(parts, {
        caller,
        to: body.to,
        amount,
        description: body.description,
        idempotency,
      });
      const answer = ok(describeTransfer(posting));
      return replayed ? { ...answer, replayed } : answer;
    },
  );
}
