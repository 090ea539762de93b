import type { Network } from '../chains/network.ts';
import { type Checkpoint, noCheckpoint } from '../checkpoint.ts';
import type { Database } from '../db/database.ts';
import { wasRefused, wasTooSlow } from '../jobs/trouble.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Logger } from '../logger.ts';
import type { AddressBook } from './address-book.ts';
import type { Arrival } from './arrival.ts';
import { beginChain, checkChain, confirmedBlock } from './begin-chains.ts';
import { type ChainCursor, findCursor, holdChain, listCheckpoints, moveCursor, releaseChain } from './chain-cursor.ts';
import { creditDeposits } from './credit-deposits.ts';
import type { OnDeposits } from './on-deposits.ts';
import type { OneNodeLimit } from './one-node-limit.ts';
import {
  type BlockRange,
  type LocatedTransfer,
  locateTransfers,
  readTransfers,
  type TransferLog,
} from './read-transfers.ts';
import { decideArrivals, doubtUndecidedAfter, receiveAtHouse } from './receive-at-house.ts';
import { findForkPoint, isOnChain, nameVanished } from './reorganisation.ts';

/** The checkpoints of a step. */
export const readingCheckpoints = ['deposits.read', 'deposits.credited', 'deposits.cursor_moved'] as const;

export interface ReaderParts {
  readonly db: Database;
  readonly ledger: Ledger;
  readonly logger: Logger;
  readonly book: AddressBook;
  /** How other processes know that this one holds the chain. */
  readonly holder: string;
  readonly leaseMs: number;
  /** The most blocks in one step. */
  readonly mostBlocks: bigint;
  /** The first block ever to read; when it is left out, the first one that is confirmed from now on. */
  readonly startBlock?: bigint | undefined;
  readonly checkpoint?: Checkpoint | undefined;
  readonly onDeposits?: OnDeposits | undefined;
  readonly oneNodeLimit?: OneNodeLimit | undefined;
}

/** How often to look whether something else has left an arrival undecided, while we know of none. */
const noneUndecidedMs = 1_000;

/** What a step found: more blocks to read at once, the last of them, none, or that another process reads this chain. */
type ReadingProgress = 'more' | 'caught_up' | 'no_block' | 'elsewhere';

export interface ChainReader {
  /** Reads the next blocks and credits what came in them. May fail at any point and be called again. */
  step(): Promise<ReadingProgress>;
  /** Whether this process holds the chain at this moment. */
  readonly holds: boolean;
  release(): Promise<void>;
}

export function createChainReader(parts: ReaderParts, network: Network): ChainReader {
  const { db, holder, leaseMs, mostBlocks, checkpoint = noCheckpoint } = parts;
  const { id: chain, client } = network;
  const hold = { chain, holder, leaseMs };
  const handled = new Map<string, bigint>();
  let span = mostBlocks;
  let isRightChain = false;
  let lookAtUndecidedFrom = 0;
  let held: { readonly cursor: ChainCursor; readonly untilMs: number; readonly floor: bigint } | undefined;

  /** What we hold is asked of the database only when the lease has used up a third of its time. */
  async function takeHold(): Promise<ChainCursor | undefined> {
    const now = performance.now();
    if (held !== undefined && now < held.untilMs - (leaseMs * 2) / 3) return held.cursor;
    let cursor = await holdChain(db, hold);
    if (cursor === undefined && (await findCursor(db, chain)) === undefined) {
      await beginChain(db, network, parts.startBlock);
      cursor = await holdChain(db, hold);
    }
    if (cursor === undefined) {
      held = undefined;
      return undefined;
    }
    const floor = held?.floor ?? (await listCheckpoints(db, chain)).at(-1)?.number ?? cursor.number;
    held = { cursor, floor, untilMs: now + leaseMs };
    return cursor;
  }

  async function move(from: ChainCursor, to: ChainCursor): Promise<ReadingProgress> {
    const now = performance.now();
    const moved = await moveCursor(db, hold, { from, to });
    held = moved && held !== undefined ? { ...held, cursor: to, untilMs: now + leaseMs } : undefined;
    return moved ? 'more' : 'elsewhere';
  }

  async function readAgainFromFork(cursor: ChainCursor): Promise<ReadingProgress> {
    const fork = await findForkPoint(db, network);
    parts.logger.error(
      { chain, depth: Number(cursor.number - fork.number), readTo: Number(cursor.number), backTo: Number(fork.number) },
      'the chain was reorganised deeper than its confirmations: it is read again from before',
    );
    await nameVanished(parts, network, fork);
    await doubtUndecidedAfter(parts, network, fork.number);
    handled.clear();
    return move(cursor, fork);
  }

  /** A range that the node refuses is halved at once, and grows again slowly. */
  async function read(range: BlockRange): Promise<readonly TransferLog[] | undefined> {
    try {
      const transfers = await readTransfers(network, range, parts.book);
      if (span < mostBlocks) span = smaller(mostBlocks, span + span / 4n + 1n);
      return transfers;
    } catch (error) {
      const wide = span > 1n && (wasRefused(error) || wasTooSlow(error));
      if (!wide) throw error;
      span /= 2n;
      return undefined;
    }
  }

  /** As long as one is undecided every step looks at it, and whatever comes to the house may be another. */
  async function decideUndecided(): Promise<void> {
    const now = performance.now();
    if (now < lookAtUndecidedFrom) return;
    const undecided = await decideArrivals(parts, network);
    lookAtUndecidedFrom = undecided > 0 ? 0 : now + noneUndecidedMs;
  }

  async function step(): Promise<ReadingProgress> {
    if (!isRightChain) await checkChain(network);
    isRightChain = true;
    const confirmed = await confirmedBlock(network);
    const cursor = await takeHold();
    if (cursor === undefined) return 'elsewhere';
    // A node that lags behind is waited for.
    if (confirmed < cursor.number) return 'no_block';
    if (confirmed > cursor.number && !(await isOnChain(client, cursor))) return readAgainFromFork(cursor);
    await decideUndecided();
    if (confirmed === cursor.number) return 'no_block';

    const to = smaller(cursor.number + span, confirmed);
    // Its hash is taken before its logs are read: should the chain change in between, the next step notices.
    const { hash } = await client.getBlock({ blockNumber: to });
    // A wallet that is not in the book now was not known to anybody when these blocks were made.
    await parts.book.refresh();
    // A node that lags behind its sisters answers with no logs instead of an error, so the last blocks are read twice.
    const again = cursor.number - smaller(BigInt(network.confirmations), span);
    const from = larger(again, held?.floor ?? cursor.number) + 1n;
    const transfers = await read({ from, to });
    if (transfers === undefined) return 'more';

    const fresh = transfers.filter((transfer) => !handled.has(keyOf(transfer)));
    const located = await locateTransfers(network, fresh);
    checkpoint('deposits.read');
    const { users, house } = sortArrivals(located, parts.book);
    await creditDeposits(parts, chain, users);
    await receiveAtHouse(parts, chain, house);
    if (house.length > 0) lookAtUndecidedFrom = 0;
    checkpoint('deposits.credited');
    for (const [key, block] of handled) if (block < from) handled.delete(key);
    for (const transfer of fresh) handled.set(keyOf(transfer), transfer.blockNumber);
    const progress = await move(cursor, { number: to, hash });
    checkpoint('deposits.cursor_moved');
    return progress === 'more' && to === confirmed ? 'caught_up' : progress;
  }

  return {
    step,
    get holds() {
      return held !== undefined && performance.now() < held.untilMs;
    },
    async release() {
      held = undefined;
      await releaseChain(db, hold);
    },
  };
}

/** To a user whoever the sender is. To the house only from outside: between our own wallets nothing is earned. */
function sortArrivals(
  transfers: readonly LocatedTransfer[],
  book: AddressBook,
): { readonly users: readonly Arrival[]; readonly house: readonly LocatedTransfer[] } {
  const users: Arrival[] = [];
  const house: LocatedTransfer[] = [];
  for (const transfer of transfers) {
    const owner = book.find(transfer.recipient);
    if (owner === undefined) continue;
    if (owner.accountId !== null) users.push({ ...transfer, accountId: owner.accountId });
    else if (book.find(transfer.sender) === undefined) house.push(transfer);
  }
  return { users, house };
}

function keyOf({ blockHash, logIndex }: TransferLog): string {
  return `${blockHash}:${logIndex}`;
}

function smaller(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}

function larger(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
