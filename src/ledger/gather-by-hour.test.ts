import fc from 'fast-check';
import { expect, test } from 'vitest';
import { amountOf } from '../money/amount.ts';
import type { AccountId } from './account-id.ts';
import { gatherByHour, type StatementChunk } from './gather-by-hour.ts';
import { gatheredEntry, type HistoryEntry } from './history.ts';

const hourMs = 3_600_000;
const usdc = (atomic: number) => amountOf('USDC', BigInt(atomic));

interface Moment {
  readonly minute: number;
  readonly type: string;
  readonly change: number;
}

/** Minutes after midnight, so that a day of them has hours with many and hours with none. */
const day = fc
  .uniqueArray(
    fc.record({
      minute: fc.integer({ min: 0, max: 400 }),
      type: fc.constantFrom('nano', 'nano', 'transfer'),
      change: fc.integer({ min: -50, max: 50 }),
    }),
    { selector: ({ minute }) => minute, maxLength: 60 },
  )
  .map((moments) => moments.toSorted((one, other) => one.minute - other.minute));

function toEntries(moments: readonly Moment[]): HistoryEntry[] {
  let balance = 0;
  return moments.map(({ minute, type, change }) => {
    balance += change;
    const posting = { type, postedAt: new Date(minute * 60_000), amount: usdc(Math.abs(change)) };
    return {
      account: 1 as AccountId,
      change: usdc(change),
      balanceAfter: usdc(balance),
      posting: posting as unknown as HistoryEntry['posting'],
    };
  });
}

const usOf = ({ posting }: HistoryEntry) => BigInt(posting.postedAt.getTime()) * 1_000n;

async function* inChunks(entries: readonly HistoryEntry[], size: number): AsyncGenerator<StatementChunk> {
  for (let from = 0; from < entries.length; from += size) {
    const some = entries.slice(from, from + size);
    yield { entries: some, endUs: usOf(some.at(-1) as HistoryEntry), goesOn: from + size < entries.length };
  }
}

/** What it should be, with everything in memory. */
function gatherWhole(entries: readonly HistoryEntry[]): HistoryEntry[] {
  const hourOf = ({ posting }: HistoryEntry) => Math.floor(posting.postedAt.getTime() / hourMs);
  let balance = 0n;
  return entries.flatMap((entry, place) => {
    const isSame = (other: HistoryEntry) => other.posting.type === 'nano' && hourOf(other) === hourOf(entry);
    if (entry.posting.type === 'nano' && entries.slice(place + 1).some(isSame)) return [];
    const same = entries.filter(isSame);
    const atomic = same.reduce((sum, { change }) => sum + change.atomic, 0n);
    const line = entry.posting.type === 'nano' ? gatheredEntry(entry, { count: same.length, atomic }) : entry;
    balance += line.change.atomic;
    return [{ ...line, balanceAfter: amountOf('USDC', balance) }];
  });
}

test('whatever is in memory at once, each hour is told once and at the place of its last', async () => {
  await fc.assert(
    fc.asyncProperty(day, fc.integer({ min: 1, max: 20 }), async (moments, size) => {
      const entries = toEntries(moments);
      const chunks = gatherByHour(inChunks(entries, size), {
        opening: usdc(0),
        comesAgain: async ({ type, afterUs, beforeUs }) =>
          entries.some((entry) => entry.posting.type === type && usOf(entry) > afterUs && usOf(entry) < beforeUs),
      });
      const lines: HistoryEntry[] = [];
      for await (const some of chunks) lines.push(...some);
      expect(lines).toEqual(gatherWhole(entries));
    }),
  );
});

test('nobody is asked where the chunk shows it', async () => {
  const moments = [10, 70, 130].map((minute) => ({ minute, type: minute === 70 ? 'nano' : 'transfer', change: 1 }));
  const chunks = gatherByHour(inChunks(toEntries(moments), 3), {
    opening: usdc(0),
    comesAgain: () => expect.unreachable('there was no reason to ask'),
  });
  for await (const lines of chunks) expect(lines).toHaveLength(3);
});
