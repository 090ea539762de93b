import type { Clock } from '../clock.ts';

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
      const now = of(holder) + ms;
      used.delete(holder);
      used.set(holder, { ms: now, at: clock.now() });
      // Drops the holder that has been idle for longest.
      for (const [oldest] of used) {
        if (used.size <= mostRemembered) break;
        used.delete(oldest);
      }
    },
  };
}
