import type { Network, Networks } from '../../chains/network.ts';
import { chainOrRefuse } from '../../custody/treasury/given-amount.ts';
import { createAddressBook } from '../../custody/watch/address-book.ts';
import { findCursor } from '../../custody/watch/chain-cursor.ts';
import { readInPieces } from '../../custody/watch/read-in-pieces.ts';
import type { BlockRange } from '../../custody/watch/read-transfers.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { type BookParts, bookMissed } from './book-transfers.ts';

/** The command's options, unparsed. */
export interface ReadAgainRequest {
  readonly chain: string;
  readonly from: string;
  readonly to: string;
}

interface ReadAgainResult {
  readonly range: BlockRange;
  readonly transfers: number;
  /** How many of them the ledger did not have. */
  readonly missed: number;
}

/**
 * Re-reads blocks at the operator's request and books missing transfers. Blocks beyond the cursor are refused: they are
 * not final, or the watcher is about to read them.
 */
export async function readAgain(
  parts: Omit<BookParts, 'book'> & { readonly networks: Networks },
  request: ReadAgainRequest,
): Promise<ReadAgainResult> {
  const network = findNetwork(parts.networks, request.chain);
  const range = { from: blockNumber('--from', request.from), to: blockNumber('--to', request.to) };
  if (range.from > range.to) throw new Refusal(`--from ${range.from} is after --to ${range.to}.`);
  const cursor = await findCursor(parts.db, network.id);
  if (cursor === undefined || range.to > cursor.number) {
    throw new Refusal(
      cursor === undefined
        ? `${network.id} has not been read yet, so there is nothing to re-read.`
        : `${network.id} has been read up to block ${cursor.number}. --to must not be later.`,
    );
  }
  const book = createAddressBook(parts.db);
  await book.refresh();
  let [transfers, missed] = [0, 0];
  for await (const piece of readInPieces(network, range, book)) {
    transfers += piece.transfers.length;
    missed += (await bookMissed({ ...parts, book }, network, piece.transfers)).length;
  }
  return { range, transfers, missed };
}

function findNetwork(networks: Networks, chain: string): Network {
  const id = chainOrRefuse(chain);
  const network = networks.get(id);
  if (network === undefined) throw new Refusal(`${id} is not configured. Set RPC_URLS_${id} to read it.`);
  return network;
}

function blockNumber(option: string, text: string): bigint {
  if (!/^\d{1,15}$/.test(text)) throw new Refusal(`${option} must be a block number, not ${text}.`);
  return BigInt(text);
}
