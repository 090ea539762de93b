import type { Clock } from '../clock.ts';
import { type Counted, type Limited, tooManyRequests } from './rate-limits.ts';

const mostRemembered = 10_000;

/**
 * Addresses, and the networks around them, that sent a key which nobody has while they were over their limit already. Until
 * they have room again, no key from there that we do not remember is looked up, so that inventing keys costs us no queries.
 */
export interface InventedKeys {
  /**
   * Throws the 429 for somebody who has no room under one of these. As many are looked up at once as may pass in a minute, the
   * others wait: otherwise all that come before the first of them is refused would be looked up.
   */
  admit(limited: readonly Limited[]): void | Promise<void>;
  note(counted: Counted): void;
  /** Once for each that was admitted, when it is known what became of it. */
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
      // The widest: whoever has many addresses does not get so much more.
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
