import type { Network } from '../../chains/network.ts';
import { askNodes, type Place } from '../../custody/watch/ask-nodes.ts';
import { hostsOf } from '../../custody/watch/judge-testimony.ts';
import type { Database, Transaction } from '../../kernel/db/database.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { type AccountId, heldAccount, houseAccount, userAccount } from '../../ledger/account-id.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { lockOwner } from '../../ledger/lock-owner.ts';
import { postSurely } from '../../ledger/post-surely.ts';
import type { Posting } from '../../ledger/posting.ts';
import { type Amount, amountOf } from '../../money/amount.ts';
import { type ChainId, homeChain } from '../../money/catalogue.ts';
import { type BookedDeposit, findBooked } from './booked-deposit.ts';

export interface ReverseParts {
  readonly db: Database;
  readonly ledger: Ledger;
}

export interface Reversal {
  readonly taken: Amount;
  /** What had been spent already. */
  readonly owed: Amount;
}

/**
 * Takes a deposit back that was credited and that the chain does not have: what is left of it from its owner's balance, the rest
 * as something that the owner owes to the house. One commit, once; custody is less by all of it.
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
    // Nothing of it is in its wallet, nor on its way home: it is carried nowhere any more.
    await tx.query(
      `UPDATE deposits SET vanished_at = NULL, swept_at = coalesce(swept_at, now()),
          kept_at = CASE WHEN home_bound AND bridge_id IS NULL THEN coalesce(kept_at, now()) END WHERE id = $1`,
      [id],
    );
    await tx.query(
      'INSERT INTO deposit_reversals (deposit_id, account_id, asset, taken, owed) VALUES ($1, $2, $3, $4, $5)',
      [id, deposit.accountId, deposit.amount.asset, taken, owed],
    );
    await postSurely(tx, ledger, [reversal(deposit, { ...source, taken })]);
    // Frozen as before: nobody has seen the moment in between.
    if (frozenAt !== null)
      await tx.query('UPDATE accounts SET frozen_at = $2 WHERE id = $1', [deposit.accountId, frozenAt]);
    const { asset } = deposit.amount;
    return { taken: amountOf(asset, taken), owed: amountOf(asset, owed) };
  });
}

function refuseUnlessAtRest({ id, reversedAt, sagaId, claimId, sweep, bridge }: BookedDeposit): void {
  if (reversedAt !== null) throw new Refusal(`${id} was taken back already, at ${reversedAt.toISOString()}.`);
  if (sagaId !== null) throw new Refusal(`${id} is what ${sagaId} has brought, which sends it again if it is gone.`);
  if (claimId !== null)
    throw new Refusal(`${id} is the payment ${claimId} for a call: nobody else was credited with it.`);
  if (sweep !== null) throw new Refusal(`${id} is being swept by ${sweep}: try again when that has ended.`);
  if (bridge?.isOpen) throw new Refusal(`${id} is being carried home by ${bridge.id}: try again when that has ended.`);
}

/** Also when it was credited again meanwhile: a deposit that comes and goes is for a person to book by hand. */
async function refuseSecondTime(tx: Transaction, deposit: BookedDeposit): Promise<void> {
  const { rows } = await tx.query('SELECT FROM ledger.posting_references WHERE reference = $1', [reversalOf(deposit)]);
  if (rows.length > 0) throw new Refusal(`${deposit.id} was taken back once and credited again: not a second time.`);
}

/**
 * Keeps everybody else's postings out until the commit, so that what is read of the balance still holds. Nothing is taken from
 * an account that is frozen, which is how the operator may well have found it: it is not while this commit is made.
 */
export async function holdOwner(tx: Transaction, accountId: bigint): Promise<Date | null> {
  await lockOwner(tx, accountId);
  const { rows } = await tx.query<{ frozen_at: Date | null }>('SELECT frozen_at FROM accounts WHERE id = $1', [
    accountId,
  ]);
  const frozenAt = rows[0]?.frozen_at ?? null;
  if (frozenAt !== null) await tx.query('UPDATE accounts SET frozen_at = NULL WHERE id = $1', [accountId]);
  return frozenAt;
}

interface Source {
  readonly account: AccountId;
  readonly chain: ChainId;
}

/** Where the money of a deposit is now, as far as it was not spent: waiting to be carried home, carried there, or where it came. */
function sourceOf({ accountId, chain, amount: { asset }, isHomeBound, isKept, bridge }: BookedDeposit): Source {
  if (accountId === null) return { chain, account: houseAccount('surplus', asset, chain) };
  if (bridge !== null) return { chain: homeChain, account: userAccount(accountId, asset, homeChain) };
  if (isHomeBound && !isKept) return { chain, account: heldAccount(accountId, asset, chain) };
  return { chain, account: userAccount(accountId, asset, chain) };
}

export async function balanceOf(tx: Transaction, account: AccountId): Promise<bigint> {
  const { rows } = await tx.query<{ balance: string }>('SELECT balance FROM ledger.accounts WHERE id = $1', [account]);
  return BigInt(rows[0]?.balance ?? 0);
}

/**
 * On the chain that has lost it, custody is less by the whole of it. What is taken from its owner on another chain stands there
 * as ours against what is missing here: every chain balances by itself.
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
    description: 'A deposit that the chain does not have was taken back.',
    details: { depositId: id, chain: deposit.chain, txHash },
  };
}

/** How the posting is known that takes a deposit back. */
export function reversalOf({ chain, txHash, position }: Pick<BookedDeposit, 'chain' | 'txHash' | 'position'>): string {
  return `deposit:${chain}:${txHash}:${position}:reversed`;
}

export function smaller(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}

/** Two looks decide: what nodes of two hosts show, or the only one there is, is not taken back by mistake. */
export async function refuseIfShown(
  network: Network | undefined,
  deposit: Place & { readonly atomic: bigint },
): Promise<void> {
  if (network === undefined)
    throw new Refusal('Its chain is off, so nobody can be asked. --force does it all the same.');
  const testimony = await askNodes(network, deposit);
  if (testimony.every(({ says }) => says === 'silent')) {
    throw new Refusal('No node answers, so nobody knows whether it is on the chain. --force does it all the same.');
  }
  const showing = hostsOf(testimony.filter(({ shown }) => shown?.atomic === deposit.atomic));
  if (showing.size >= Math.min(2, hostsOf(testimony).size)) {
    throw new Refusal(`It is on the chain, says ${[...showing].join(' and ')}. --force does it all the same.`);
  }
}
