import type { Network } from '../../chains/network.ts';
import {
  beginChain,
  type ChainCursor,
  type ChainHead,
  type ChainHolds,
  checkChain,
  createChainHolds,
  findCursor,
  listCheckpoints,
  moveCursor,
  readHead,
  releaseChain,
} from '../../custody/watch/chain-cursor.ts';
import {
  type BlockRange,
  locateTransfers,
  readTransfers,
  type TransferLog,
} from '../../custody/watch/read-transfers.ts';
import { findForkPoint, isOnChain, markVanishedAfter } from '../../custody/watch/reorg.ts';
import { createRereads } from '../../custody/watch/rereads.ts';
import { type Clock, monotonicClock } from '../../kernel/clock.ts';
import { createErrorReporter, wasRefusedByNode, wasTooSlow } from '../../kernel/jobs/error-reporter.ts';
import { noWakes, type Wakes } from '../../kernel/jobs/wakes.ts';
import { type Checkpoint, noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import { type BookParts, bookMissed, bookTransfers } from './book-transfers.ts';
import { decideArrivals, recheckUndecidedAfter } from './receive-at-house.ts';

export const readingCheckpoints = ['deposits.read', 'deposits.credited', 'deposits.cursor_moved'] as const;

export interface ReaderParts extends BookParts {
  /** Identifies this process as the lease holder. */
  readonly holder: string;
  readonly leaseMs: number;
  /** Shared by the readers of a process. */
  readonly holds?: ChainHolds | undefined;
  readonly mostBlocks: bigint;
  /** Without it, reading starts at the block that is confirmed now. */
  readonly startBlock?: bigint | undefined;
  readonly checkpoint?: Checkpoint | undefined;
  readonly clock?: Clock | undefined;
  readonly wakes?: Wakes | undefined;
}

/** How often to query undecided arrivals while none is known and no notification arrives. */
const noneUndecidedMs = 1_000;

/** How many blocks a process re-reads after taking a chain over: 15 minutes on the fastest chain, more on others. */
const readByOthers = 4_000n;

/** `no_block`: nothing new. `elsewhere`: another process holds the lease. */
type ReadingProgress = 'more' | 'caught_up' | 'no_block' | 'elsewhere';

export interface ChainReader {
  /**
   * May fail at any point and be called again. A chain that tells of its blocks gives the newest: if it was seen before,
   * the chain is not asked.
   */
  step(newestBlock?: bigint): Promise<ReadingProgress>;
  /** Whether this process holds the chain's lease now. */
  readonly holds: boolean;
  release(): Promise<void>;
  /** There may be an arrival to decide. The next step looks. */
  noteArrivals(): void;
}

export function createChainReader(parts: ReaderParts, network: Network): ChainReader {
  const { db, holder, leaseMs, mostBlocks, checkpoint = noCheckpoint, wakes = noWakes } = parts;
  const { id: chain, client } = network;
  const hold = { chain, holder, leaseMs };
  const holds = parts.holds ?? createChainHolds(db, { holder, leaseMs });
  const handled = new Map<string, bigint>();
  const looks = createRereads(parts.clock ?? monotonicClock);
  const lookTrouble = createErrorReporter(parts.logger, { chain }, 'blocks cannot be read again');
  let span = mostBlocks;
  let isRightChain = false;
  let seen: ChainHead | undefined;
  let lookAtUndecidedFrom = 0;
  let arrivalsNotified = false;
  let held: { readonly cursor: ChainCursor; readonly floor: bigint } | undefined;

  /** Renews the lease only after a third of its time. */
  async function takeHold(): Promise<ChainCursor | undefined> {
    holds.noteAnswer(chain);
    if (held !== undefined && performance.now() < holds.untilMs(chain) - (leaseMs * 2) / 3) return held.cursor;
    let cursor = await holds.take(chain);
    if (cursor === undefined && (await findCursor(db, chain)) === undefined) {
      await beginChain(db, network, parts.startBlock);
      cursor = await holds.take(chain);
    }
    if (cursor === undefined) {
      held = undefined;
      return undefined;
    }
    const floor = held?.floor ?? (await takeOver(cursor));
    held = { cursor, floor };
    return cursor;
  }

  /** The previous holder may not have re-read its last blocks. Returns the block before which nothing is re-read. */
  async function takeOver(cursor: ChainCursor): Promise<bigint> {
    const floor = (await listCheckpoints(db, chain)).at(-1)?.number ?? cursor.number;
    looks.begin({ after: larger(floor, cursor.number - readByOthers), to: cursor.number });
    return floor;
  }

  async function move(from: ChainCursor, to: ChainCursor): Promise<ReadingProgress> {
    const now = performance.now();
    const moved = await moveCursor(db, hold, { from, to });
    held = moved && held !== undefined ? { ...held, cursor: to } : undefined;
    if (held === undefined) holds.lost(chain);
    else holds.renewed(chain, now + leaseMs);
    return moved ? 'more' : 'elsewhere';
  }

  async function readAgainFromFork(cursor: ChainCursor): Promise<ReadingProgress> {
    const fork = await findForkPoint(db, network);
    parts.logger.error(
      { chain, depth: Number(cursor.number - fork.number), readTo: Number(cursor.number), backTo: Number(fork.number) },
      'the chain was reorganised deeper than its confirmations: reading again from the fork',
    );
    await markVanishedAfter(parts, network, fork);
    await recheckUndecidedAfter(parts, network, fork.number);
    handled.clear();
    looks.forgetAfter(fork.number);
    return move(cursor, fork);
  }

  /** Halves a range that the node refuses, then lets it grow again slowly. */
  async function read(range: BlockRange): Promise<readonly TransferLog[] | undefined> {
    try {
      const transfers = await readTransfers(network, range, parts.book);
      if (span < mostBlocks) span = smaller(mostBlocks, span + span / 4n + 1n);
      return transfers;
    } catch (error) {
      const wide = span > 1n && (wasRefusedByNode(error) || wasTooSlow(error));
      if (!wide) throw error;
      span /= 2n;
      return undefined;
    }
  }

  /** Checks undecided arrivals with every step while there are any, and otherwise when a notification tells of one. */
  async function decideUndecided(): Promise<void> {
    const now = performance.now();
    if (now < lookAtUndecidedFrom) return;
    arrivalsNotified = false;
    lookAtUndecidedFrom = 0;
    const undecided = await decideArrivals(parts, network);
    if (undecided === 0 && !arrivalsNotified) lookAtUndecidedFrom = now + wakes.restMs(noneUndecidedMs);
  }

  /** Re-reads one due range when nothing is new. A failure is logged and retried, and delays no new deposit. */
  async function lookAgain(): Promise<void> {
    const range = looks.next(span);
    if (range === undefined) return;
    await parts.book.refresh();
    const transfers = await read(range);
    if (transfers === undefined) return;
    // Passes all transfers of a transaction, because equal ones are told apart only by their number.
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

  async function step(newestBlock?: bigint): Promise<ReadingProgress> {
    const progress = await readNew(newestBlock);
    if (progress === 'node_lags') return 'no_block';
    if (progress === 'caught_up' || progress === 'no_block')
      await lookAgain().then(lookTrouble.over, lookTrouble.report);
    return progress;
  }

  /** The node that is asked may lag behind the chain that tells of its blocks, and is then asked again. */
  async function findConfirmed(newestBlock?: bigint): Promise<bigint> {
    if (seen === undefined || seen.head !== newestBlock) seen = await readHead(network);
    return seen.confirmed;
  }

  async function readNew(newestBlock?: bigint): Promise<ReadingProgress | 'node_lags'> {
    if (!isRightChain) await checkChain(network);
    isRightChain = true;
    const confirmed = await findConfirmed(newestBlock);
    const cursor = await takeHold();
    if (cursor === undefined) return 'elsewhere';
    // A lagging node may not have these blocks, so it is not asked.
    if (confirmed < cursor.number) return 'node_lags';
    if (confirmed > cursor.number && !(await isOnChain(client, cursor))) return readAgainFromFork(cursor);
    await decideUndecided();
    if (confirmed === cursor.number) return 'no_block';

    const to = smaller(cursor.number + span, confirmed);
    // The hash is read before the logs, so that the next step notices a reorg in between.
    const { hash } = await client.getBlock({ blockNumber: to });
    // A wallet that is not in the address book now did not exist when these blocks were made.
    await parts.book.refresh();
    // Overlapping with the last blocks costs no extra request; `lookAgain` finds logs that a node shows later than
    // that.
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
    noteArrivals() {
      arrivalsNotified = true;
      lookAtUndecidedFrom = 0;
    },
    get holds() {
      return held !== undefined && performance.now() < holds.untilMs(chain);
    },
    async release() {
      held = undefined;
      holds.lost(chain);
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
