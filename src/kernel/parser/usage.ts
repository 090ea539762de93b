import type { Clock } from '../clock.ts';
import { setNewest } from '../set-newest.ts';

/** Recent usage per holder, with a half-life of ten seconds. */
export interface Usage {
  of(holder: string): number;
  add(holder: string, ms: number): void;
}

const halfLifeMs = 10_000;
const mostRemembered = 10_000;

export function createUsage(clock: Clock): Usage {
  const used = new Map<string, { readonly ms: number; readonly at: number }>();
  const of = (holder: string) => {
    const last = used.get(holder);
    return last === undefined ? 0 : last.ms * 0.5 ** ((clock.now() - last.at) / halfLifeMs);
  };
  return {
    of,
    add(holder, ms) {
      setNewest(used, holder, { ms: of(holder) + ms, at: clock.now() }, mostRemembered);
    },
  };
}
