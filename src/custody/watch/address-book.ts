import type { Hex } from 'viem';
import type { Queryable } from '../../kernel/db/database.ts';

/** Whose wallet it is. The house has no account: what strangers send it is surplus. */
interface AddressOwner {
  readonly accountId: bigint | null;
}

/**
 * Every address that is ours, of users and of the house, in use or retired. The wallets of all chains stand in one book,
 * because a key has the same address everywhere: tokens may arrive on a chain that their owner never asked for.
 */
export interface AddressBook {
  /** Afterwards the book holds everything that was committed before the call. */
  refresh(): Promise<void>;
  find(address: string): AddressOwner | undefined;
  /** In lower case: the mixed spelling costs a hash each, and there may be very many. */
  readonly addresses: readonly Hex[];
}

/**
 * A wallet is looked for again this long after it was made. Its time is that of its transaction's beginning, so one that
 * commits late appears among older ones.
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
      const now = await databaseTime(db);
      // A clock that was set back would hide new wallets among old ones: then everything is read again.
      const since = readAt === undefined || now < readAt ? undefined : new Date(readAt.getTime() - overlapMs);
      const { rows } = await db.query<{ account_id: bigint; address: string }>(
        'SELECT account_id, address FROM wallets WHERE $1::timestamptz IS NULL OR created_at > $1',
        [since ?? null],
      );
      for (const row of rows) {
        if (!owners.has(row.address.toLowerCase())) add(row.address, { accountId: row.account_id });
      }
      const house = await db.query<{ address: string }>('SELECT DISTINCT address FROM house_wallets');
      for (const row of house.rows) add(row.address, { accountId: null });
      readAt = now;
    },
  };
}

async function databaseTime(db: Queryable): Promise<Date> {
  const { rows } = await db.query<{ now: Date }>('SELECT now() AS now');
  const [row] = rows;
  if (row === undefined) throw new Error('the database does not tell the time');
  return row.now;
}
