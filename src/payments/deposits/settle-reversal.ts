import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { type AccountId, accountParts, houseAccount, userAccount } from '../../ledger/account-id.ts';
import { postOrThrow } from '../../ledger/ledger.ts';
import { type Amount, amountOf, toDecimalText } from '../../money/amount.ts';
import { type ChainId, homeChain } from '../../money/catalogue.ts';
import { type BookedDeposit, findBooked } from './booked-deposit.ts';
import { balanceOf, holdOwner, type ReverseParts, reversalOf, smaller } from './reverse-deposit.ts';

export interface Settling {
  /** `written_off` debits the house's equity. */
  readonly kind: 'collected' | 'written_off';
  /** Without it: everything owed, or as much as the balance covers. */
  readonly atomic?: bigint | undefined;
  readonly chain?: ChainId | undefined;
}

export interface Settled {
  readonly settled: Amount;
  readonly stillOwed: Amount;
}

/**
 * Settles the debt for a deposit that was reversed after it was spent. The posting and the remaining debt are one
 * commit. No more can be settled than is owed, so nothing is settled twice.
 */
export function settleReversal({ db, ledger }: ReverseParts, id: string, settling: Settling): Promise<Settled> {
  return db.transaction(async (tx) => {
    const deposit = await findBooked(tx, id, 'lock');
    if (deposit === undefined) throw new Refusal(`There is no deposit ${id}.`);
    const most = mostOf(deposit, settling);
    const { atomic, account, frozenAt } = await sourceOf(tx, deposit, settling, most);
    const number = await writeDown(tx, deposit, settling, atomic);
    const { accountId, amount, chain, txHash } = deposit;
    const { asset } = amount;
    const isCollected = settling.kind === 'collected';
    await postOrThrow(tx, ledger, [
      {
        type: isCollected ? 'reversal_collected' : 'reversal_written_off',
        amount: amountOf(asset, atomic),
        reference: settlementOf(deposit, number),
        entries: [
          { account, atomic: -atomic },
          { account: houseAccount('reversals_in_transit', asset, chainOf(deposit, settling)), atomic },
        ],
        ...(isCollected && accountId !== null && { senderId: accountId }),
        description: isCollected ? 'Collected for a reversed deposit.' : 'A debt was written off.',
        details: { depositId: id, chain, txHash },
      },
    ]);
    // Restore the freeze; no other transaction saw the account without it.
    if (frozenAt !== null) await tx.query('UPDATE accounts SET frozen_at = $2 WHERE id = $1', [accountId, frozenAt]);
    return { settled: amountOf(asset, atomic), stillOwed: amountOf(asset, deposit.owed.atomic - atomic) };
  });
}

function settlementOf(deposit: Pick<BookedDeposit, 'chain' | 'txHash' | 'position'>, number: number): string {
  return `${reversalOf(deposit)}:settled:${number}`;
}

function mostOf({ id, reversedAt, owed }: BookedDeposit, { atomic }: Settling): bigint {
  if (reversedAt === null) throw new Refusal(`${id} was not reversed, so nothing is owed for it.`);
  if (owed.atomic === 0n) throw new Refusal(`Nothing is owed for ${id} any more.`);
  if (atomic !== undefined && atomic > owed.atomic)
    throw new Refusal(`Only ${toDecimalText(owed)} ${owed.asset} is owed for ${id}.`);
  return atomic ?? owed.atomic;
}

/** A write-off is booked on the deposit's chain, a collection on the chain of the balance. */
function chainOf({ chain }: BookedDeposit, settling: Settling): ChainId {
  return settling.kind === 'collected' ? (settling.chain ?? homeChain) : chain;
}

interface Source {
  readonly account: AccountId;
  readonly atomic: bigint;
  readonly frozenAt: Date | null;
}

async function sourceOf(tx: Transaction, deposit: BookedDeposit, settling: Settling, most: bigint): Promise<Source> {
  const { id, accountId, amount } = deposit;
  const { asset } = amount;
  const chain = chainOf(deposit, settling);
  if (settling.kind === 'written_off')
    return { account: houseAccount('equity', asset, chain), atomic: most, frozenAt: null };
  if (accountId === null) throw new Refusal(`${id} belonged to the house, so there is no owner to collect from.`);
  const frozenAt = await holdOwner(tx, accountId);
  const account = userAccount(accountId, asset, chain);
  const available = await balanceOf(tx, account);
  const there = `${toDecimalText(amountOf(asset, available))} ${asset} on ${chain}`;
  if (available === 0n || (settling.atomic !== undefined && available < settling.atomic))
    throw new Refusal(`The owner of ${id} has only ${there}. Nothing was collected.`);
  return { account, atomic: smaller(available, most), frozenAt };
}

async function writeDown(tx: Transaction, { id }: BookedDeposit, { kind }: Settling, atomic: bigint): Promise<number> {
  await tx.query('UPDATE deposit_reversals SET settled = settled + $2 WHERE deposit_id = $1', [id, atomic]);
  const { rows } = await tx.query<{ number: number }>(
    `INSERT INTO reversal_settlements (deposit_id, number, kind, atomic)
     SELECT $1, coalesce(max(number), 0) + 1, $2, $3 FROM reversal_settlements WHERE deposit_id = $1 RETURNING number`,
    [id, kind, atomic],
  );
  return rows[0]?.number ?? 1;
}

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
    await postOrThrow(tx, ledger, [
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
  const references = [reversalOf(deposit), ...settlements.rows.map(({ number }) => settlementOf(deposit, number))];
  await refuseMissing(tx, deposit.id, references);
  const { rows } = await tx.query<{ accountId: bigint; amount: bigint }>(
    `SELECT e.account_id, sum(e.amount) AS amount FROM ledger.posting_references r
      CROSS JOIN LATERAL (
        SELECT CASE WHEN e.account_id < 0 THEN e.account_id & 16383 ELSE e.account_id END AS account_id, e.amount
          FROM ledger.entries e WHERE e.posting_id = r.posting_id AND e.posted_at = r.posted_at OFFSET 0) e
      WHERE r.reference = ANY ($1) GROUP BY 1 HAVING sum(e.amount) <> 0`,
    [references],
  );
  return rows.map(({ accountId, amount }) => ({ account: Number(accountId) as AccountId, atomic: amount }));
}

/** What is undone must be known to the last entry. A posting whose month was archived is only in its file. */
async function refuseMissing(tx: Transaction, id: string, references: readonly string[]): Promise<void> {
  const { rows } = await tx.query<{ reference: string }>(
    `SELECT r.reference FROM ledger.posting_references r
       JOIN ledger.postings p ON p.id = r.posting_id AND p.posted_at = r.posted_at
      WHERE r.reference = ANY ($1)`,
    [references],
  );
  const found = new Set(rows.map(({ reference }) => reference));
  const missing = references.filter((reference) => !found.has(reference));
  if (missing.length > 0)
    throw new Refusal(
      `The ledger does not have ${missing.join(' and ')} any more: the month was archived. ${id} cannot be restored by itself. Nothing was changed.`,
    );
}

/** A month stays in the ledger while a reversal of it has a debt left, because restoring the deposit would undo both. */
export async function openReversals(db: Queryable, before: string): Promise<string[]> {
  const { rows } = await db.query<{ depositId: string }>(
    'SELECT deposit_id FROM deposit_reversals WHERE owed > settled AND reversed_at < $1::timestamptz ORDER BY 1 LIMIT 10',
    [before],
  );
  return rows.map(
    ({ depositId }) =>
      `The reversal of ${depositId} is open: see "paywright deposits list", and settle it with "paywright deposits settle".`,
  );
}
