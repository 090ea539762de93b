import type { Hex } from 'viem';
import type { Network } from '../../chains/network.ts';
import type { AddressBook } from '../../custody/watch/address-book.ts';
import { firstBlockRead } from '../../custody/watch/chain-cursor.ts';
import { readInPieces } from '../../custody/watch/read-in-pieces.ts';
import type { Asset } from '../../money/catalogue.ts';
import { type BookParts, bookMissed } from './book-transfers.ts';

/** Wallets that hold more of an asset than the ledger expects. */
export interface Suspect {
  readonly key: string;
  readonly asset: Asset;
  /** In lower case. */
  readonly addresses: readonly Hex[];
  readonly excess: bigint;
  readonly isHouse: boolean;
}

/** The search depth when no earlier matching block is known: fifty requests. */
const mostBlocksBack = 100_000n;

/**
 * Searches for missing transfers from the newest block back to the last one at which the wallets matched, and books
 * them. Returns and logs the suspects whose excess stays unexplained.
 */
export async function findMissing(
  parts: BookParts,
  network: Network,
  {
    suspects,
    to,
    since,
  }: { readonly suspects: readonly Suspect[]; readonly to: bigint; readonly since?: bigint | undefined },
): Promise<readonly Suspect[]> {
  if (suspects.length === 0) return [];
  const left = new Map(suspects.map((suspect) => [suspect, suspect.excess]));
  const book = narrow(parts.book, new Set(suspects.flatMap(({ addresses }) => addresses)));
  const first = (await firstBlockRead(parts.db, network.id)) ?? to;
  const wanted = (since ?? to - mostBlocksBack) + 1n;
  const from = wanted > first ? wanted : first;
  for await (const { transfers } of readInPieces(network, { from, to }, book)) {
    // `bookMissed` needs the whole address book to recognise our own wallets as senders.
    for (const { recipient, asset, atomic } of await bookMissed(parts, network, transfers)) {
      const suspect = suspects.find(
        (one) => one.asset === asset && one.addresses.includes(recipient.toLowerCase() as Hex),
      );
      if (suspect !== undefined) left.set(suspect, (left.get(suspect) ?? 0n) - atomic);
    }
    if ([...left.values()].every((excess) => excess <= 0n)) break;
  }
  const unexplained = suspects.filter((suspect) => (left.get(suspect) ?? 0n) > 0n);
  for (const { addresses, asset, excess, isHouse } of unexplained) {
    parts.logger.error(
      { chain: network.id, asset, atomic: String(excess), ...(isHouse ? { house: true } : { wallet: addresses[0] }) },
      `a wallet holds more than the ledger expects, and blocks ${from} to ${to} do not explain it: re-read earlier ones with \`paywright deposits read\``,
    );
  }
  return unexplained;
}

function narrow(book: AddressBook, addresses: ReadonlySet<Hex>): AddressBook {
  return {
    addresses: [...addresses],
    find: (address) => (addresses.has(address.toLowerCase() as Hex) ? book.find(address) : undefined),
    refresh: () => book.refresh(),
  };
}
