import type { Transaction } from '../../kernel/db/database.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { type AccountId, accountParts } from '../../ledger/account-id.ts';
import { postSurely } from '../../ledger/post-surely.ts';
import { type BookedDeposit, findBooked } from './booked-deposit.ts';
import { type ReverseParts, reversalOf } from './reverse-deposit.ts';
import { settlementOf } from './settle-reversal.ts';

/**
 * Restores a reversed deposit that is on the chain after all. One posting undoes the reversal and all its settlements,
 * whether collected or written off, so the owner gets everything back and owes nothing. One commit, once.
 */
export function restoreBooked({ db, ledger }: ReverseParts, id: string): Promise<void> {
  return db.transaction(async (tx) => {
    const deposit = await findBooked(tx, id, 'lock');
    if (deposit === undefined || deposit.reversedAt === null) throw new Refusal(`${id} is neither held nor reversed.`);
    const entries = await entriesOf(tx, deposit);
    const waitsToBeCarried = entries.some(({ account }) => accountParts(account)?.kind === 'held');
    await tx.query('DELETE FROM reversal_settlements WHERE deposit_id = $1', [id]);
    await tx.query('DELETE FROM deposit_reversals WHERE deposit_id = $1', [id]);
    await tx.query(
      `UPDATE deposits SET swept_at = CASE WHEN sweep_id IS NOT NULL THEN swept_at END,
          kept_at = CASE WHEN NOT $2 THEN kept_at END WHERE id = $1`,
      [id, waitsToBeCarried],
    );
    const { accountId, amount, chain, txHash } = deposit;
    await postSurely(tx, ledger, [
      {
        type: 'deposit_restored',
        amount,
        reference: `${reversalOf(deposit)}:restored`,
        entries: entries.map(({ account, atomic }) => ({ account, atomic: -atomic })),
        ...(accountId !== null && { recipientId: accountId }),
        description: 'A reversed deposit is on the chain after all.',
        details: { depositId: id, chain, txHash },
      },
    ]);
  });
}

async function entriesOf(
  tx: Transaction,
  deposit: BookedDeposit,
): Promise<readonly { readonly account: AccountId; readonly atomic: bigint }[]> {
  const settlements = await tx.query<{ number: number }>(
    'SELECT number FROM reversal_settlements WHERE deposit_id = $1',
    [deposit.id],
  );
  const { rows } = await tx.query<{ accountId: bigint; amount: bigint }>(
    `SELECT e.account_id, sum(e.amount) AS amount FROM ledger.posting_references r
       JOIN ledger.postings p ON p.id = r.posting_id
       JOIN ledger.entries e ON e.posting_id = p.id AND e.posted_at = p.posted_at
      WHERE r.reference = ANY ($1) GROUP BY 1 HAVING sum(e.amount) <> 0`,
    [[reversalOf(deposit), ...settlements.rows.map(({ number }) => settlementOf(deposit, number))]],
  );
  return rows.map(({ accountId, amount }) => ({ account: Number(accountId) as AccountId, atomic: amount }));
}
