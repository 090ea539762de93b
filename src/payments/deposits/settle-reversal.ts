import type { Transaction } from '../../kernel/db/database.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { type AccountId, houseAccount, userAccount } from '../../ledger/account-id.ts';
import { postSurely } from '../../ledger/post-surely.ts';
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
    await postSurely(tx, ledger, [
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

export function settlementOf(deposit: Pick<BookedDeposit, 'chain' | 'txHash' | 'position'>, number: number): string {
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
