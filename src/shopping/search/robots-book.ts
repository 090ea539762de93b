import type { Clock } from '../../kernel/clock.ts';
import { createBriefMemory } from './brief-memory.ts';

export interface KnownRobots {
  /** As `readRobots` returns them. An empty text allows everything. */
  readonly rules: string;
  /** The server failed with a 5xx status. RFC 9309 then forbids reading anything. */
  readonly failed: boolean;
  /** The origin that answered; a redirect to www. shows up here. */
  readonly origin: string;
}

export interface RobotsBook {
  find(origin: string): KnownRobots | undefined;
  keep(
    origin: string,
    answer: { readonly status: number; readonly rules: string; readonly origin: string },
  ): KnownRobots;
}

/** The minimum that RFC 9309 requires a crawler to read. */
export const mostRobotsBytes = 512_000;

const keepMs = 60 * 60_000;
/** The server may recover soon. */
const keepFailureMs = 60_000;

/** Caches robots.txt per origin. */
export function createRobotsBook({ clock }: { readonly clock: Clock }): RobotsBook {
  const memory = createBriefMemory<KnownRobots>({
    clock,
    keepMs,
    room: 16_000_000,
    weigh: ({ rules }) => rules.length + 1_000,
  });
  return {
    find: (origin) => memory.get(origin),
    keep(origin, { status, rules, origin: answeredFrom }) {
      const failed = status >= 500;
      const known = { rules, failed, origin: answeredFrom };
      for (const asked of new Set([origin, answeredFrom])) memory.set(asked, known, failed ? keepFailureMs : keepMs);
      return known;
    },
  };
}
