import { getAddress, type Hex } from 'viem';
import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import { lockUntilCommit } from '../../kernel/db/locks.ts';
import type { ChainId } from '../../money/catalogue.ts';
import { limitErrors } from './errors.ts';
import { refuseBeyondDailyLimit } from './hourly-limit.ts';
import type { OutgoingLimits } from './outgoing-limits.ts';

/** A payment from an account to an outside address that the caller chose. */
interface Leaving {
  readonly accountId: bigint;
  readonly address: Hex;
  /** In millionths of a USDC. */
  readonly value: bigint;
}

/**
 * Enforces the account's allow-list and daily limit, in the commit that takes the money from the balance. The lock
 * lasts until that commit, so concurrent payments see each other, and an allow-list that was switched on applies to all
 * later ones.
 */
export async function enforceLimits(tx: Transaction, brakes: OutgoingLimits, leaving: Leaving): Promise<void> {
  await lockOutgoing(tx, leaving.accountId);
  await checkLimits(tx, brakes, leaving);
}

/** As they are now. Without the lock another payment may use what is left. */
export async function checkLimits(db: Queryable, brakes: OutgoingLimits, leaving: Leaving): Promise<void> {
  await refuseNotAllowed(db, leaving);
  await refuseBeyondDailyLimit(db, brakes, leaving);
}

/** Serializes an account's outgoing payments and changes of its allow-list. */
export async function lockOutgoing(tx: Transaction, accountId: bigint): Promise<void> {
  await lockUntilCommit(tx, { kind: 'sentOutside', of: String(accountId) });
}

type Verdict = { readonly clear: true } | { readonly clear: false; readonly reason: string };

/** Asked about every outside address before money goes there. Its adapters are in custody/adapters/. */
export interface Screening {
  check(question: { readonly chain: ChainId; readonly address: Hex }): Promise<Verdict>;
}

export interface AllowedAddress {
  readonly address: Hex;
  readonly addedAt: Date;
  /** Payments to it are refused before this time. */
  readonly usableFrom: Date;
}

export interface AllowList {
  /** While on, money goes only to the listed addresses. */
  readonly isOn: boolean;
  /** When it switches off, if the owner has asked for that. */
  readonly offFrom: Date | null;
  readonly addresses: readonly AllowedAddress[];
}

/** SQL: the account's allow-list is on. */
const isOnSql = '(off_from IS NULL OR off_from > clock_timestamp())';

export async function readAllowList(db: Queryable, accountId: bigint): Promise<AllowList> {
  const { rows: lists } = await db.query<{ offFrom: Date | null }>(
    `SELECT off_from FROM withdrawal_allow_lists WHERE account_id = $1 AND ${isOnSql}`,
    [accountId],
  );
  const { rows } = await db.query<AddressRow>(
    `SELECT address, added_at, usable_from FROM withdrawal_addresses WHERE account_id = $1 ORDER BY added_at, address`,
    [accountId],
  );
  return { isOn: lists.length > 0, offFrom: lists[0]?.offFrom ?? null, addresses: rows.map(toAddress) };
}

/** Part of the commit that sends money there. The saved default address is no exception. */
async function refuseNotAllowed(
  tx: Queryable,
  { accountId, address }: { readonly accountId: bigint; readonly address: Hex },
): Promise<void> {
  const { rows } = await tx.query<{ usableFrom: Date | null; offFrom: Date | null; usable: boolean }>(
    `SELECT a.usable_from, l.off_from, coalesce(a.usable_from <= clock_timestamp(), false) AS usable
       FROM withdrawal_allow_lists l
       LEFT JOIN withdrawal_addresses a ON a.account_id = l.account_id AND a.address = $2
      WHERE l.account_id = $1 AND ${isOnSql}`,
    [accountId, address.toLowerCase()],
  );
  const [listed] = rows;
  if (listed === undefined || listed.usable) return;
  const { usableFrom, offFrom } = listed;
  const endsBefore = offFrom !== null && (usableFrom === null || offFrom < usableFrom);
  const from = (endsBefore ? offFrom : usableFrom)?.toISOString() ?? null;
  throw limitErrors.address_not_allowed(explain(address, { from, endsBefore }), {
    members: { address, usableFrom: from },
  });
}

function explain(
  address: Hex,
  { from, endsBefore }: { readonly from: string | null; readonly endsBefore: boolean },
): string | undefined {
  if (from === null) return undefined;
  return endsBefore
    ? `Your allow-list is on until ${from}; ${address} cannot be used before then.`
    : `${address} is on your allow-list but still in its waiting period. It can be used from ${from}.`;
}

export type AddressRow = Omit<AllowedAddress, 'address'> & { readonly address: string };

export function toAddress(row: AddressRow): AllowedAddress {
  return { ...row, address: getAddress(row.address) };
}
