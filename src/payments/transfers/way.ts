import { z } from 'zod';
import { visibleText } from '../../accounts/fields.ts';
import { type AccountIdentifier, explainNotFound } from '../../accounts/find-account.ts';
import { amountField, currency, requireAmount } from '../../kernel/http/amount-field.ts';
import type { Caller } from '../../kernel/http/define-route.ts';
import type { Amount } from '../../money/amount.ts';
import { homeChain } from '../../money/catalogue.ts';
import type { Payment } from '../../policies/consent.ts';
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
});

/** The id of the recipient's account. */
export async function findRecipient(
  recipients: RecipientBook,
  { accountId }: Pick<Caller, 'accountId'>,
  recipient: AccountIdentifier,
): Promise<bigint> {
  const recipientId = await recipients.find(recipient);
  if (recipientId === undefined) throw transferErrors.recipient_not_found(explainNotFound(recipient));
  if (recipientId === accountId) throw transferErrors.self_transfer();
  return recipientId;
}

export function paymentTo(recipientId: bigint, amount: Amount): Payment {
  return {
    operation: 'transfer',
    amount,
    counterparty: { kind: 'account', accountId: recipientId },
    chains: [homeChain],
  };
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
      return { payment: paymentTo(recipientId, amount) };
    },
  };
}
