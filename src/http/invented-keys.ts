import type { Clock } from '../clock.ts';
import { networksOf } from './client-address.ts';
import { type Counted, tooManyRequests } from './rate-limits.ts';

const mostRemembered = 10_000;

/**
 * Addresses that sent a key which nobody has while they were over their limit already. Until they have room again, no key
 * from there that we do not remember is looked up, so that inventing keys costs us no queries.
 */
export interface InventedKeys {
  /** Throws the 429 for an address that has no room. */
  admit(ip: string): void;
  note(ip: string, counted: Counted): void;
}

export function createInventedKeys(clock: Clock): InventedKeys {
  const closed = new Map<string, { readonly until: number; readonly limit: number }>();

  return {
    admit(ip) {
      const { nearest } = networksOf(ip);
      const found = closed.get(nearest);
      if (found === undefined) return;
      const resetMs = found.until - clock.now();
      if (resetMs > 0) throw tooManyRequests(found.limit, resetMs);
      closed.delete(nearest);
    },
    note(ip, { limit, decision }) {
      if (decision.allowed) return;
      const [first] = closed.keys();
      if (closed.size >= mostRemembered && first !== undefined) closed.delete(first);
      closed.set(networksOf(ip).nearest, { until: clock.now() + decision.resetMs, limit });
    },
  };
}
