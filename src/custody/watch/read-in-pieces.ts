import type { Network } from '../../chains/network.ts';
import { wasRefused, wasTooSlow } from '../../kernel/jobs/trouble.ts';
import type { AddressBook } from './address-book.ts';
import { type BlockRange, readTransfers, type TransferLog } from './read-transfers.ts';

/** Blocks per request at first; halved whenever the node refuses. */
const mostBlocks = 2_000n;

interface Piece {
  readonly range: BlockRange;
  readonly transfers: readonly TransferLog[];
}

/** Reads the transfers of any number of blocks, newest first, in ranges as large as the node accepts. */
export async function* readInPieces(
  network: Network,
  { from, to }: BlockRange,
  book: AddressBook,
): AsyncGenerator<Piece> {
  let blocks = mostBlocks;
  for (let last = to; last >= from; ) {
    const first = last - blocks + 1n;
    const range = { from: first > from ? first : from, to: last };
    try {
      yield { range, transfers: await readTransfers(network, range, book) };
      last = range.from - 1n;
    } catch (error) {
      if (blocks === 1n || !(wasRefused(error) || wasTooSlow(error))) throw error;
      blocks /= 2n;
    }
  }
}
