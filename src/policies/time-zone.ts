import type { Queryable } from '../kernel/db/database.ts';

/** Undefined when Node knows no such zone. Offsets and abbreviations are none: PostgreSQL reads them differently. */
export function readTimeZone(text: string): string | undefined {
  if (text !== 'UTC' && !/^[A-Za-z]+(?:\/[A-Za-z0-9_+-]+)+$/.test(text)) return undefined;
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions();
    // Node may prefer another name of the same zone. Only the case is corrected.
    return timeZone.toLowerCase() === text.toLowerCase() ? timeZone : text;
  } catch {
    return undefined;
  }
}

/** The first of the zones that PostgreSQL does not know: its table may be older than Node's. */
export async function findUnknownZone(db: Queryable, zones: Iterable<string>): Promise<string | undefined> {
  for (const zone of new Set(zones)) {
    try {
      await db.query('SELECT now() AT TIME ZONE $1', [zone]);
    } catch (error) {
      if ((error as { code?: string }).code === '22023') return zone;
      throw error;
    }
  }
  return undefined;
}

export interface LocalTime {
  /** From 0 for Monday to 6 for Sunday. */
  readonly day: number;
  readonly minute: number;
}

const minuteMs = 60_000;
const dayNames = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

interface ZoneClock {
  readonly format: Intl.DateTimeFormat;
  /** The minute since the epoch that `time` belongs to. */
  at: number;
  time: LocalTime;
}

/** There are about 600 zones, but some can be spelled in many ways. */
const mostClocks = 1_000;
const clocks = new Map<string, ZoneClock>();

/** Formats once a minute and zone. Every zone differs from UTC by whole minutes. */
export function localTime(timeZone: string, nowMs: number): LocalTime {
  const at = Math.floor(nowMs / minuteMs);
  let clock = clocks.get(timeZone);
  if (clock === undefined) {
    const parts = { weekday: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
    const format = new Intl.DateTimeFormat('en-US', { timeZone, ...parts });
    clock = { format, at: Number.NaN, time: { day: 0, minute: 0 } };
    if (clocks.size >= mostClocks) clocks.clear();
    clocks.set(timeZone, clock);
  }
  if (clock.at !== at) {
    clock.time = readClock(clock.format, at * minuteMs);
    clock.at = at;
  }
  return clock.time;
}

function readClock(format: Intl.DateTimeFormat, atMs: number): LocalTime {
  const parts = new Map(format.formatToParts(atMs).map(({ type, value }) => [type, value]));
  const minute = Number(parts.get('hour')) * 60 + Number(parts.get('minute'));
  return { day: dayNames.indexOf(parts.get('weekday') ?? ''), minute };
}
