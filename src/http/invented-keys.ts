import type { Clock } from '../clock.ts';
import { type Counted, type Limited, tooManyRequests } from './rate-limits.ts';

const mostRemembered = 10_000;

/**
 * Addresses, and the networks around them, that sent a key which nobody has while they were over their limit already. Until
 * they have room again, no key from there that we do not remember is looked up, so that inventing keys costs us no queries.
 */
export interface InventedKeys {
  /** Throws the 429 for somebody who has no room under one of these. */
  admit(limited: readonly Limited[]): void;
  note(counted: Counted): void;
}

export function createInventedKeys(clock: Clock): InventedKeys {
  const closed = new Map<string, { readonly until: number; readonly limit: number }>();

  return {
    admit(limited) {
      for (const { bucket } of limited) {
        const found = closed.get(bucket);
        if (found === undefined) continue;
        const resetMs = found.until - clock.now();
        if (resetMs > 0) throw tooManyRequests(found.limit, resetMs);
        closed.delete(bucket);
      }
    },
    note({ bucket, limit, decision }) {
      if (decision.allowed) return;
      const [first] = closed.keys();
      if (closed.size >= mostRemembered && first !== undefined) closed.delete(first);
      closed.set(bucket, { until: clock.now() + decision.resetMs, limit });
    },
  };
}
