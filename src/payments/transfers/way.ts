import { z } from 'zod';
import { visibleText } from '../../accounts/fields.ts';
import { type AccountIdentifier, explainNotFound } from '../../accounts/find-account.ts';
import { amountField, currency, requireAmount } from '../../kernel/http/amount-field.ts';
import type { Caller } from '../../kernel/http/define-route.ts';
import { notDuplicateOf } from '../../kernel/http/duplicate-guard.ts';
import { type Amount, subtract, toText } from '../../money/amount.ts';
import { homeChain } from '../../money/catalogue.ts';
import { transferFee } from '../../money/fees.ts';
import { note } from '../../policies/approvals/asks.ts';
import type { Fact, Payment } from '../../policies/consent.ts';
import type { Way } from '../../policies/way.ts';
import { transferErrors } from './errors.ts';
import { type RecipientBook, recipientOrRefuse } from './recipient.ts';

export const to = z
  .string()
  .meta({ description: 'The handle, verified email or verified phone number of an account.' });

export const transferBody = z.strictObject({
  to,
  amount: amountField,
  currency,
  description: visibleText(500).optional().meta({ description: 'Shown to both sides.' }),
  note,
  notDuplicateOf,
});

/** The id of the recipient's account, at once if it is known. */
export function findRecipient(
  recipients: RecipientBook,
  { accountId }: Pick<Caller, 'accountId'>,
  recipient: AccountIdentifier,
): bigint | Promise<bigint> {
  const allowed = (recipientId: bigint | undefined) => {
    if (recipientId === undefined) throw transferErrors.recipient_not_found(explainNotFound(recipient));
    if (recipientId === accountId) throw transferErrors.self_transfer();
    return recipientId;
  };
  const found = recipients.find(recipient);
  return found instanceof Promise ? found.then(allowed) : allowed(found);
}

export function paymentTo(recipientId: bigint, amount: Amount, description: string | undefined): Payment {
  return {
    operation: 'transfer',
    amount,
    counterparty: { kind: 'account', accountId: recipientId },
    chains: [homeChain],
    facts: () => [...transferFacts(amount), ...(description === undefined ? [] : [describe(description)])],
  };
}

export function transferFacts(amount: Amount): readonly Fact[] {
  const fee = transferFee(amount);
  return [
    { label: 'Fee', text: toText(fee) },
    { label: 'They receive', text: toText(subtract(amount, fee)) },
  ];
}

export function describe(description: string): Fact {
  return { label: 'Description', text: description, quoted: true };
}

export const transferRefusals = [transferErrors.recipient_not_found, transferErrors.self_transfer];

export function transferWay(recipients: RecipientBook): Way<typeof transferBody> {
  return {
    operation: 'transfer',
    scope: 'pay',
    body: transferBody,
    refusals: transferRefusals,
    async read(caller, body) {
      const amount = requireAmount(body.currency, body.amount);
      const recipientId = await findRecipient(recipients, caller, recipientOrRefuse(body.to));
      return { payment: paymentTo(recipientId, amount, body.description) };
    },
  };
}
