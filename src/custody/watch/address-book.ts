import type { Hex } from 'viem';
import { onlyRow, type Queryable } from '../../kernel/db/database.ts';

/** Null for the house, whose unexpected transfers are surplus. */
interface AddressOwner {
  readonly accountId: bigint | null;
}

/**
 * Every address of ours, of users and the house, active or retired. All chains share one book, because a key has the
 * same address everywhere: tokens may arrive on a chain that their owner never opened.
 */
export interface AddressBook {
  /** Afterwards the book contains everything committed before the call. */
  refresh(): Promise<void>;
  find(address: string): AddressOwner | undefined;
  /** In lower case: a checksummed spelling costs a hash each, and there may be very many. */
  readonly addresses: readonly Hex[];
}

/**
 * Wallets are re-read for this long. Their time is when their transaction began, so one that commits late appears among
 * older ones.
 */
const overlapMs = 10 * 60_000;

export function createAddressBook(db: Queryable): AddressBook {
  const owners = new Map<string, AddressOwner>();
  const addresses: Hex[] = [];
  let readAt: Date | undefined;

  function add(address: string, owner: AddressOwner): void {
    const key = address.toLowerCase();
    if (!owners.has(key)) addresses.push(key as Hex);
    owners.set(key, owner);
  }

  return {
    addresses,
    find: (address) => owners.get(address.toLowerCase()),
    async refresh() {
      const { now } = onlyRow(await db.query<{ now: Date }>('SELECT now() AS now'));
      // A clock that was set back would hide new wallets among old ones, so everything is read again.
      const since = readAt === undefined || now < readAt ? undefined : new Date(readAt.getTime() - overlapMs);
      const { rows } = await db.query<{ accountId: bigint; address: string }>(
        'SELECT account_id, address FROM wallets WHERE $1::timestamptz IS NULL OR created_at > $1',
        [since ?? null],
      );
      for (const row of rows) {
        if (!owners.has(row.address.toLowerCase())) add(row.address, { accountId: row.accountId });
      }
      const house = await db.query<{ address: string }>('SELECT DISTINCT address FROM house_wallets');
      for (const row of house.rows) add(row.address, { accountId: null });
      readAt = now;
    },
  };
}
