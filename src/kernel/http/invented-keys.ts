import type { Clock } from '../clock.ts';
import { type Counted, type Limited, tooManyRequests } from './rate-limits.ts';

const mostRemembered = 10_000;

/**
 * Remembers addresses and networks that sent an unknown key while already over their rate limit. Until their limit
 * resets, uncached keys from there are not looked up, so guessing keys costs no queries.
 */
export interface InventedKeys {
  /**
   * Throws the 429 while one of these buckets is closed. At most one minute's limit of lookups runs at once and the
   * rest wait; otherwise all keys that arrive before the first refusal would be looked up.
   */
  admit(limited: readonly Limited[]): void | Promise<void>;
  note(counted: Counted): void;
  /** Call it once per admitted request, when its lookup is done. */
  leave(limited: readonly Limited[]): void;
}

interface Lookups {
  underWay: number;
  readonly waiting: (() => void)[];
}

export function createInventedKeys(clock: Clock): InventedKeys {
  const closed = new Map<string, { readonly until: number; readonly limit: number }>();
  const lookups = new Map<string, Lookups>();

  function refuseClosed(limited: readonly Limited[]): void {
    for (const { bucket } of limited) {
      const found = closed.get(bucket);
      if (found === undefined) continue;
      const resetMs = found.until - clock.now();
      if (resetMs > 0) throw tooManyRequests(found.limit, resetMs);
      closed.delete(bucket);
    }
  }

  async function waitForTurn({ waiting }: Lookups, limited: readonly Limited[]): Promise<void> {
    await new Promise<void>((resolve) => void waiting.push(resolve));
    try {
      refuseClosed(limited);
    } catch (error) {
      leave(limited);
      throw error;
    }
  }

  function leave(limited: readonly Limited[]): void {
    const bucket = limited.at(-1)?.bucket ?? '';
    const found = lookups.get(bucket);
    if (found === undefined) return;
    const next = found.waiting.shift();
    if (next !== undefined) next();
    else if (--found.underWay === 0) lookups.delete(bucket);
  }

  return {
    admit(limited) {
      refuseClosed(limited);
      // The widest network, so that many addresses in it do not multiply the limit.
      const { bucket, limit } = limited.at(-1) ?? { bucket: '', limit: 0 };
      if (limit === 0) return undefined;
      const found = lookups.get(bucket) ?? { underWay: 0, waiting: [] };
      lookups.set(bucket, found);
      if (found.underWay >= limit) return waitForTurn(found, limited);
      found.underWay++;
      return undefined;
    },
    leave,
    note({ bucket, limit, decision }) {
      if (decision.allowed) return;
      const [first] = closed.keys();
      if (closed.size >= mostRemembered && first !== undefined) closed.delete(first);
      closed.set(bucket, { until: clock.now() + decision.resetMs, limit });
    },
  };
}
