import { z } from 'zod';
import { namesOf } from '../../accounts/find-account.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { amountValue, amountValueFormat, holding, toAmountValue } from '../../kernel/http/amount-field.ts';
import { untrusted } from '../../kernel/http/untrusted.ts';
import { userAccount } from '../../ledger/account-id.ts';
import { findHistoryEntry, type HistoryEntry, listHistory } from '../../ledger/history.ts';
import { type Amount, amountOf } from '../../money/amount.ts';
import type { Holding } from '../../money/catalogue.ts';

export const transferRecord = z.object({
  transferId: z.string(),
  direction: z.enum(['sent', 'received']),
  type: z.string().meta({ description: 'transfer, deposit, …' }),
  status: z.literal('complete'),
  amount: amountValue.meta({
    description: `Before the fee. ${amountValueFormat}`,
  }),
  fee: amountValue.meta({ description: 'Deducted from the amount, in the same format.' }),
  currency: holding,
  counterparty: z
    .object({ handle: z.string(), name: untrusted })
    .nullable()
    .meta({ description: 'Null if the other party has no account here.' }),
  description: untrusted.nullable(),
  createdAt: z.iso.datetime(),
});

export type TransferRecord = z.input<typeof transferRecord>;

export interface TransferPage {
  readonly transfers: TransferRecord[];
  readonly nextCursor: string | null;
}

export async function listTransfers(
  db: Queryable,
  { accountId, limit, cursor }: { accountId: bigint; limit: number; cursor: string | undefined },
): Promise<TransferPage> {
  const { entries, nextCursor } = await listHistory(db, {
    ownerId: accountId,
    accounts: spendableAccounts(accountId),
    gather: true,
    limit,
    ...(cursor !== undefined && { cursor }),
  });
  return { transfers: await toRecords(db, accountId, entries), nextCursor };
}

export async function findTransfer(
  db: Queryable,
  { accountId, id }: { accountId: bigint; id: string },
): Promise<TransferRecord | undefined> {
  const accounts = spendableAccounts(accountId);
  const entry = await findHistoryEntry(db, { ownerId: accountId, accounts, postingId: id });
  return entry && (await toRecords(db, accountId, [entry]))[0];
}

function spendableAccounts(accountId: bigint) {
  return holding.options.map((asset) => userAccount(accountId, asset));
}

export async function toRecords(
  db: Queryable,
  accountId: bigint,
  entries: readonly HistoryEntry[],
): Promise<TransferRecord[]> {
  const otherSide = ({ posting: { senderId, recipientId } }: HistoryEntry) =>
    senderId === accountId ? recipientId : senderId;
  const names = await namesOf(db, entries.map(otherSide));
  return entries.map((entry) => {
    const { posting, change } = entry;
    const other = otherSide(entry);
    const { amount, fee } = shownAmounts(entry);
    return {
      transferId: posting.id,
      direction: change.atomic < 0n ? 'sent' : 'received',
      type: posting.type,
      status: 'complete',
      amount: toAmountValue(amount),
      fee: toAmountValue(fee),
      currency: change.asset as Holding,
      counterparty: other === null ? null : (names.get(other) ?? null),
      description: entry.gathered === undefined ? posting.description : describeCalls(entry.gathered),
      createdAt: posting.postedAt.toISOString(),
    };
  });
}

function describeCalls(count: number): string {
  return count === 1 ? '1 call' : `${count} calls`;
}

/**
 * The payer of the amount and the recipient of the amount minus the fee see the posting's own figures. Others see the change of their
 * balance, such as the other side of a swap or the rest of an order's hold.
 */
function shownAmounts({ posting: { amount, fee }, change }: HistoryEntry): { amount: Amount; fee: Amount } {
  const isParty =
    amount.asset === change.asset && (change.atomic === -amount.atomic || change.atomic === amount.atomic - fee.atomic);
  if (isParty) return { amount, fee };
  const moved = change.atomic < 0n ? -change.atomic : change.atomic;
  return { amount: amountOf(change.asset, moved), fee: amountOf(change.asset, 0n) };
}
