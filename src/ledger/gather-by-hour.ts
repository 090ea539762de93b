import { type Amount, add } from '../money/amount.ts';
import { gatheredEntry, gatheredTypes, type HistoryEntry } from './history.ts';

/** Some entries of a statement, oldest first. */
export interface StatementChunk {
  readonly entries: readonly HistoryEntry[];
  /** When the last entry was posted, in microseconds. */
  readonly endUs: bigint;
  /** Whether more chunks follow. */
  readonly goesOn: boolean;
}

export interface GatherOptions {
  readonly opening: Amount;
  /** Whether the statement has another entry of this type between the two moments, both exclusive. */
  comesAgain(stretch: { readonly type: string; readonly afterUs: bigint; readonly beforeUs: bigint }): Promise<boolean>;
}

interface Hour {
  readonly count: number;
  readonly atomic: bigint;
}

const hourMs = 3_600_000;

/**
 * The lines of a statement: entries of `gatheredTypes` become one line per hour, in place of the hour's last entry.
 * Each line's balance follows from the lines before it. Only the sums of unfinished hours are kept between chunks; when
 * a chunk ends within an hour, `comesAgain` tells whether its last entry was the hour's last.
 */
export async function* gatherByHour(
  chunks: AsyncIterable<StatementChunk>,
  { opening, comesAgain }: GatherOptions,
): AsyncGenerator<readonly HistoryEntry[]> {
  const hours = new Map<string, Hour>();
  let balance = opening;
  for await (const chunk of chunks) {
    const places = await lastPlaces(chunk, comesAgain);
    const lines: HistoryEntry[] = [];
    for (const [place, entry] of chunk.entries.entries()) {
      const line = isGathered(entry) ? gather(hours, entry, { isLast: places.get(hourKey(entry)) === place }) : entry;
      if (line === undefined) continue;
      balance = add(balance, line.change);
      lines.push({ ...line, balanceAfter: balance });
    }
    yield lines;
  }
}

/** Adds an entry to its hour. Returns the line of the whole hour for the hour's last entry. */
function gather(
  hours: Map<string, Hour>,
  entry: HistoryEntry,
  { isLast }: { readonly isLast: boolean },
): HistoryEntry | undefined {
  const key = hourKey(entry);
  const { count, atomic } = hours.get(key) ?? { count: 0, atomic: 0n };
  const hour = { count: count + 1, atomic: atomic + entry.change.atomic };
  if (isLast) hours.delete(key);
  else hours.set(key, hour);
  return isLast ? gatheredEntry(entry, hour) : undefined;
}

/** The index of each hour's last entry. An hour that continues after the chunk has none. */
async function lastPlaces(
  { entries, endUs, goesOn }: StatementChunk,
  comesAgain: GatherOptions['comesAgain'],
): Promise<ReadonlyMap<string, number>> {
  const places = new Map<string, number>();
  for (const [place, entry] of entries.entries()) if (isGathered(entry)) places.set(hourKey(entry), place);
  const lastHour = Math.floor(Number(endUs / 1_000n) / hourMs);
  for (const type of goesOn ? gatheredTypes : []) {
    const key = keyOf(type, lastHour);
    const beforeUs = BigInt(lastHour + 1) * BigInt(hourMs) * 1_000n;
    if (places.has(key) && (await comesAgain({ type, afterUs: endUs, beforeUs }))) places.delete(key);
  }
  return places;
}

function isGathered({ posting }: HistoryEntry): boolean {
  return gatheredTypes.includes(posting.type);
}

function hourKey({ posting }: HistoryEntry): string {
  return keyOf(posting.type, Math.floor(posting.postedAt.getTime() / hourMs));
}

function keyOf(type: string, hour: number): string {
  return `${type} ${hour}`;
}
