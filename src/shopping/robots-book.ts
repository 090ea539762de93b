import type { Clock } from '../clock.ts';
import { createBriefMemory } from './brief-memory.ts';
import { everythingAllowed, nothingAllowed, parseRobots, type RobotsRules } from './robots.ts';

/** What an origin's robots.txt said, and where it was found. */
export interface KnownRobots {
  readonly rules: RobotsRules;
  /** Whether its server could not tell, in which case nothing may be read. */
  readonly failed: boolean;
  /** Where the site answered from: a redirect to www. is seen here first. */
  readonly origin: string;
}

export interface RobotsBook {
  find(origin: string): KnownRobots | undefined;
  keep(
    origin: string,
    answer: { readonly status: number; readonly text: string; readonly origin: string },
  ): KnownRobots;
}

/** RFC 9309 wants at least this much to be read. */
export const mostRobotsBytes = 512_000;

const keepMs = 60 * 60_000;
/** A server that is in trouble may be well again soon. */
const keepFailureMs = 60_000;

/** The robots.txt of sites that were asked lately. */
export function createRobotsBook({ clock, token }: { readonly clock: Clock; readonly token: string }): RobotsBook {
  const memory = createBriefMemory<KnownRobots>({
    clock,
    keepMs,
    room: 16_000_000,
    weigh: ({ rules }) => rules.reduce((sum, { pattern }) => sum + pattern.length + 100, 1_000),
  });
  return {
    find: (origin) => memory.get(origin),
    keep(origin, { status, text, origin: answeredFrom }) {
      const failed = status >= 500;
      const rules = failed ? nothingAllowed : status >= 300 ? everythingAllowed : parseRobots(text, token);
      const known = { rules, failed, origin: answeredFrom };
      for (const asked of new Set([origin, answeredFrom])) memory.set(asked, known, failed ? keepFailureMs : keepMs);
      return known;
    },
  };
}
