import type { Network } from '../../chains/network.ts';
import { askNodes, type Place } from '../../custody/watch/ask-nodes.ts';
import { hostsOf } from '../../custody/watch/compare-nodes.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { type AccountId, heldAccount, houseAccount, userAccount } from '../../ledger/account-id.ts';
import { postOrThrow } from '../../ledger/ledger.ts';
import type { Posting } from '../../ledger/posting.ts';
import { lockOwner } from '../../ledger/require-live-key.ts';
import { type Amount, amountOf } from '../../money/amount.ts';
import { type ChainId, homeChain } from '../../money/catalogue.ts';
import { type BookedDeposit, findBooked } from './booked-deposit.ts';
import type { CreditParts } from './credit-deposits.ts';

export type ReverseParts = Pick<CreditParts, 'db' | 'ledger'>;

export interface Reversal {
  readonly taken: Amount;
  /** The part that was already spent. */
  readonly owed: Amount;
}

/**
 * Reverses a credited deposit that is not on the chain. The owner's balance pays what is left of it, and the owner owes
 * the rest to the house. Custody falls by the full amount. One commit, once.
 */
export function reverseBooked({ db, ledger }: ReverseParts, id: string): Promise<Reversal> {
  return db.transaction(async (tx) => {
    const deposit = await findBooked(tx, id, 'lock');
    if (deposit === undefined) throw new Refusal(`There is no deposit ${id}.`);
    refuseUnlessAtRest(deposit);
    await refuseSecondTime(tx, deposit);
    const frozenAt = deposit.accountId === null ? null : await holdOwner(tx, deposit.accountId);
    const source = sourceOf(deposit);
    const taken = smaller(await balanceOf(tx, source.account), deposit.amount.atomic);
    const owed = deposit.amount.atomic - taken;
    // Neither a sweep nor the bridge may pick it up any more.
    await tx.query(
      `UPDATE deposits SET vanished_at = NULL, swept_at = coalesce(swept_at, now()),
          kept_at = CASE WHEN home_bound AND bridge_id IS NULL THEN coalesce(kept_at, now()) END WHERE id = $1`,
      [id],
    );
    await tx.query(
      'INSERT INTO deposit_reversals (deposit_id, account_id, asset, taken, owed) VALUES ($1, $2, $3, $4, $5)',
      [id, deposit.accountId, deposit.amount.asset, taken, owed],
    );
    await postOrThrow(tx, ledger, [reversal(deposit, { ...source, taken })]);
    // Restore the freeze; no other transaction saw the account without it.
    if (frozenAt !== null)
      await tx.query('UPDATE accounts SET frozen_at = $2 WHERE id = $1', [deposit.accountId, frozenAt]);
    const { asset } = deposit.amount;
    return { taken: amountOf(asset, taken), owed: amountOf(asset, owed) };
  });
}

function refuseUnlessAtRest({ id, reversedAt, sagaId, claimId, sweep, bridge }: BookedDeposit): void {
  if (reversedAt !== null) throw new Refusal(`${id} was already reversed at ${reversedAt.toISOString()}.`);
  if (sagaId !== null) throw new Refusal(`${id} belongs to ${sagaId}, which sends it again if it is lost.`);
  if (claimId !== null)
    throw new Refusal(`${id} is the payment ${claimId} for a call and was not credited to an account.`);
  if (sweep !== null) throw new Refusal(`${id} is being swept by ${sweep}. Try again when the sweep has ended.`);
  if (bridge?.isOpen)
    throw new Refusal(`${id} is being carried home by ${bridge.id}. Try again when the bridge transfer has ended.`);
}

/** Refuses even if it was restored in between. A deposit that comes and goes needs a manual booking. */
async function refuseSecondTime(tx: Transaction, deposit: BookedDeposit): Promise<void> {
  const { rows } = await tx.query('SELECT FROM ledger.posting_references WHERE reference = $1', [reversalOf(deposit)]);
  if (rows.length > 0)
    throw new Refusal(`${deposit.id} was already reversed and restored once. It cannot be reversed again.`);
}

/**
 * Locks the owner's balances until the commit. The ledger refuses to debit a frozen account, and the operator has often
 * frozen this one, so the freeze is lifted within this transaction. Returns when it was frozen.
 */
export async function holdOwner(tx: Transaction, accountId: bigint): Promise<Date | null> {
  await lockOwner(tx, accountId);
  const { rows } = await tx.query<{ frozenAt: Date | null }>('SELECT frozen_at FROM accounts WHERE id = $1', [
    accountId,
  ]);
  const frozenAt = rows[0]?.frozenAt ?? null;
  if (frozenAt !== null) await tx.query('UPDATE accounts SET frozen_at = NULL WHERE id = $1', [accountId]);
  return frozenAt;
}

interface Source {
  readonly account: AccountId;
  readonly chain: ChainId;
}

/** The unspent money is waiting to be carried home, already carried home, or where it arrived. */
function sourceOf({ accountId, chain, amount: { asset }, isHomeBound, isKept, bridge }: BookedDeposit): Source {
  if (accountId === null) return { chain, account: houseAccount('surplus', asset, chain) };
  if (bridge !== null) return { chain: homeChain, account: userAccount(accountId, asset, homeChain) };
  if (isHomeBound && !isKept) return { chain, account: heldAccount(accountId, asset, chain) };
  return { chain, account: userAccount(accountId, asset, chain) };
}

export async function balanceOf(tx: Transaction, account: AccountId): Promise<bigint> {
  const { rows } = await tx.query<{ balance: bigint }>('SELECT balance FROM ledger.accounts WHERE id = $1', [account]);
  return rows[0]?.balance ?? 0n;
}

/**
 * Custody on the deposit's chain falls by the full amount. If the owner's money is on another chain,
 * `reversals_in_transit` there offsets the shortfall here, so that every chain balances on its own.
 */
function reversal(deposit: BookedDeposit, { account, chain, taken }: Source & { readonly taken: bigint }): Posting {
  const { id, accountId, amount, txHash } = deposit;
  const { asset, atomic } = amount;
  const isElsewhere = chain !== deposit.chain;
  return {
    type: 'deposit_reversed',
    amount,
    reference: reversalOf(deposit),
    entries: [
      { account: houseAccount('custody', asset, deposit.chain), atomic },
      {
        account: houseAccount('reversals_in_transit', asset, deposit.chain),
        atomic: isElsewhere ? -atomic : taken - atomic,
      },
      { account, atomic: -taken },
      ...(isElsewhere ? [{ account: houseAccount('reversals_in_transit', asset, chain), atomic: taken }] : []),
    ],
    ...(accountId !== null && { senderId: accountId }),
    description: 'A deposit that is no longer on the chain was reversed.',
    details: { depositId: id, chain: deposit.chain, txHash },
  };
}

/** The ledger reference of the reversal. */
export function reversalOf({ chain, txHash, position }: Pick<BookedDeposit, 'chain' | 'txHash' | 'position'>): string {
  return `deposit:${chain}:${txHash}:${position}:reversed`;
}

export function smaller(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}

/** Guards against a mistake: refuses if nodes of two hosts, or the only one, show the deposit. */
export async function refuseIfShown(
  network: Network | undefined,
  deposit: Place & { readonly atomic: bigint },
): Promise<void> {
  if (network === undefined)
    throw new Refusal(
      'The chain is not configured, so the deposit cannot be checked. Use --force to reverse it anyway.',
    );
  const testimony = await askNodes(network, deposit);
  if (testimony.every(({ says }) => says === 'silent')) {
    throw new Refusal('No node answers, so the deposit cannot be checked. Use --force to reverse it anyway.');
  }
  const showing = hostsOf(testimony.filter(({ shown }) => shown?.atomic === deposit.atomic));
  if (showing.size >= Math.min(2, hostsOf(testimony).size)) {
    throw new Refusal(
      `The deposit is on the chain, according to ${[...showing].join(' and ')}. Use --force to reverse it anyway.`,
    );
  }
}
