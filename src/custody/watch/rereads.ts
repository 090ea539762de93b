import type { Clock } from '../../kernel/clock.ts';
import type { BlockRange } from './read-transfers.ts';

const minuteMs = 60_000;

/**
 * A node whose log index lags returns no logs instead of an error. So blocks are read again this long after the first
 * reading, each time as one range: soon for a short lag, late for a long one.
 */
const afterMs = [minuteMs, 5 * minuteMs, 15 * minuteMs];

export interface Rereads {
  /** Another process has read these blocks, and may have ended before it re-read them. */
  begin(blocks: { readonly after: bigint; readonly to: bigint }): void;
  /** Blocks up to this one were read for the first time, now. */
  noteRead(to: bigint): void;
  /** The next blocks to re-read, or undefined when none is due yet. */
  next(mostBlocks: bigint): BlockRange | undefined;
  /** The blocks that `next` returned last were read again. */
  done(range: BlockRange): void;
  /** A reorg has replaced the blocks after this one. */
  forgetAfter(block: bigint): void;
  /** Blocks up to this one are never read again. */
  readonly settledTo: bigint;
}

interface Look {
  readonly afterMs: number;
  /** The last block that this look has read. */
  upTo: bigint;
  lookedAt: number;
}

export function createRereads(clock: Clock): Rereads {
  let reads: { readonly to: bigint; readonly at: number }[] = [];
  let looks: readonly Look[] = [];

  /** A look also waits `afterMs` between two ranges, so that it reads many blocks at once, and rarely. */
  function dueBlock({ afterMs: ageMs, upTo, lookedAt }: Look): bigint | undefined {
    const now = clock.now();
    if (now - lookedAt < ageMs) return undefined;
    const due = reads.findLast(({ at }) => at <= now - ageMs)?.to;
    return due !== undefined && due > upTo ? due : undefined;
  }

  function nextLook(): { readonly look: Look; readonly due: bigint } | undefined {
    for (const look of looks) {
      const due = dueBlock(look);
      if (due !== undefined) return { look, due };
    }
    return undefined;
  }

  return {
    begin({ after, to }) {
      const [soonestMs = 0] = afterMs;
      looks = afterMs.map((ageMs) => ({ afterMs: ageMs, upTo: after, lookedAt: Number.NEGATIVE_INFINITY }));
      reads = [{ to, at: clock.now() - soonestMs }];
    },
    noteRead(to) {
      reads.push({ to, at: clock.now() });
    },
    next(mostBlocks) {
      const found = nextLook();
      if (found === undefined) return undefined;
      const from = found.look.upTo + 1n;
      const last = found.look.upTo + mostBlocks;
      return { from, to: last < found.due ? last : found.due };
    },
    done({ to }) {
      const found = nextLook();
      if (found === undefined) return;
      found.look.upTo = to;
      if (to >= found.due) found.look.lookedAt = clock.now();
      reads = reads.filter((read) => read.to > this.settledTo);
    },
    forgetAfter(block) {
      reads = reads.filter(({ to }) => to <= block);
      for (const look of looks) if (look.upTo > block) look.upTo = block;
    },
    get settledTo() {
      return looks.reduce<bigint>((least, { upTo }) => (upTo < least ? upTo : least), looks[0]?.upTo ?? 0n);
    },
  };
}
