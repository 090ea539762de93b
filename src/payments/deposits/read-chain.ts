import type { Network } from '../../chains/network.ts';
import type { AddressBook } from '../../custody/watch/address-book.ts';
import { beginChain, checkChain, confirmedBlock } from '../../custody/watch/begin-chains.ts';
import {
  type ChainCursor,
  findCursor,
  holdChain,
  listCheckpoints,
  moveCursor,
  releaseChain,
} from '../../custody/watch/chain-cursor.ts';
import type { OnDeposits } from '../../custody/watch/on-deposits.ts';
import {
  type BlockRange,
  locateTransfers,
  readTransfers,
  type TransferLog,
} from '../../custody/watch/read-transfers.ts';
import { doubtDepositsAfter, findForkPoint, isOnChain } from '../../custody/watch/reorganisation.ts';
import { createSecondLooks } from '../../custody/watch/second-looks.ts';
import { type Clock, monotonicClock } from '../../kernel/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import { createTrouble, wasRefused, wasTooSlow } from '../../kernel/jobs/trouble.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import { type Checkpoint, noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { bookMissed, bookTransfers } from './book-transfers.ts';
import type { OneNodeLimit } from './one-node-limit.ts';
import { decideArrivals, doubtUndecidedAfter } from './receive-at-house.ts';

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
  /** Tells when blocks are due to be read again. */
  readonly clock?: Clock | undefined;
}

/** How often to look whether something else has left an arrival undecided, while we know of none. */
const noneUndecidedMs = 1_000;

/** How many blocks a process reads again when it takes a chain over: a quarter of an hour on the fastest chain, and more elsewhere. */
const readByOthers = 4_000n;

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
  const looks = createSecondLooks(parts.clock ?? monotonicClock);
  const lookTrouble = createTrouble(parts.logger, { chain }, 'blocks cannot be read again');
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
    const floor = held?.floor ?? (await takeOver(cursor));
    held = { cursor, floor, untilMs: now + leaseMs };
    return cursor;
  }

  /** The process before us may not have read its last blocks again. Answers before which block nothing is read again. */
  async function takeOver(cursor: ChainCursor): Promise<bigint> {
    const floor = (await listCheckpoints(db, chain)).at(-1)?.number ?? cursor.number;
    looks.begin({ after: larger(floor, cursor.number - readByOthers), to: cursor.number });
    return floor;
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
    await doubtDepositsAfter(parts, network, fork);
    await doubtUndecidedAfter(parts, network, fork.number);
    handled.clear();
    looks.forgetAfter(fork.number);
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

  /**
   * Reads blocks again whose time has come: one range for each step that has nothing new to read. What keeps it from that is logged
   * and tried again with the next step, and keeps no new deposit waiting.
   */
  async function lookAgain(): Promise<void> {
    const range = looks.next(span);
    if (range === undefined) return;
    await parts.book.refresh();
    const transfers = await read(range);
    if (transfers === undefined) return;
    // All of a transaction, because equal transfers of one are told apart by how many there are.
    const late = new Set(transfers.filter((transfer) => !handled.has(keyOf(transfer))).map(({ txHash }) => txHash));
    const missed = await bookMissed(
      parts,
      network,
      transfers.filter(({ txHash }) => late.has(txHash)),
    );
    if (missed.length > 0) lookAtUndecidedFrom = 0;
    looks.done(range);
    for (const [key, block] of handled) if (block <= looks.settledTo) handled.delete(key);
  }

  async function step(): Promise<ReadingProgress> {
    const progress = await readNew();
    if (progress === 'node_lags') return 'no_block';
    if (progress === 'caught_up' || progress === 'no_block')
      await lookAgain().then(lookTrouble.over, lookTrouble.report);
    return progress;
  }

  async function readNew(): Promise<ReadingProgress | 'node_lags'> {
    if (!isRightChain) await checkChain(network);
    isRightChain = true;
    const confirmed = await confirmedBlock(network);
    const cursor = await takeHold();
    if (cursor === undefined) return 'elsewhere';
    // A node that lags behind is waited for, and is not asked about blocks that it may not have.
    if (confirmed < cursor.number) return 'node_lags';
    if (confirmed > cursor.number && !(await isOnChain(client, cursor))) return readAgainFromFork(cursor);
    await decideUndecided();
    if (confirmed === cursor.number) return 'no_block';

    const to = smaller(cursor.number + span, confirmed);
    // Its hash is taken before its logs are read: should the chain change in between, the next step notices.
    const { hash } = await client.getBlock({ blockNumber: to });
    // A wallet that is not in the book now was not known to anybody when these blocks were made.
    await parts.book.refresh();
    // The last blocks are read twice at no cost; `lookAgain` finds what a node shows later than that.
    const again = cursor.number - smaller(BigInt(network.confirmations), span);
    const from = larger(again, held?.floor ?? cursor.number) + 1n;
    const transfers = await read({ from, to });
    if (transfers === undefined) return 'more';

    const fresh = transfers.filter((transfer) => !handled.has(keyOf(transfer)));
    const located = await locateTransfers(network, fresh);
    checkpoint('deposits.read');
    const { forHouse } = await bookTransfers(parts, chain, located);
    if (forHouse) lookAtUndecidedFrom = 0;
    checkpoint('deposits.credited');
    for (const transfer of fresh) handled.set(keyOf(transfer), transfer.blockNumber);
    const progress = await move(cursor, { number: to, hash });
    looks.noteRead(to);
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

function keyOf({ blockHash, logIndex }: TransferLog): string {
  return `${blockHash}:${logIndex}`;
}

function smaller(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}

function larger(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
