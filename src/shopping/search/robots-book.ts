import type { Clock } from '../../kernel/clock.ts';
import { createBriefMemory } from './brief-memory.ts';

/** What an origin's robots.txt said, and where it was found. */
export interface KnownRobots {
  /** As `readRobots` gives them; none allow everything. */
  readonly rules: string;
  /** Whether its server could not tell, in which case nothing may be read. */
  readonly failed: boolean;
  /** Where the site answered from: a redirect to www. is seen here first. */
  readonly origin: string;
}

export interface RobotsBook {
  find(origin: string): KnownRobots | undefined;
  keep(
    origin: string,
    answer: { readonly status: number; readonly rules: string; readonly origin: string },
  ): KnownRobots;
}

/** RFC 9309 wants at least this much to be read. */
export const mostRobotsBytes = 512_000;

const keepMs = 60 * 60_000;
/** A server that is in trouble may be well again soon. */
const keepFailureMs = 60_000;

/** The robots.txt of sites that were asked lately. */
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
