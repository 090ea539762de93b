import type { Clock } from '../../kernel/clock.ts';

export interface ExpiringCacheOptions<Value> {
  readonly clock: Clock;
  readonly keepMs: number;
  /** The size limit: a number of entries, or the sum of their weights if `weigh` is given. */
  readonly room: number;
  readonly weigh?: (value: Value) => number;
}

/** A cache with expiry and a size limit. It evicts the least recently used entry first. */
export function createExpiringCache<Value>({
  clock,
  keepMs: usuallyMs,
  room,
  weigh = () => 1,
}: ExpiringCacheOptions<Value>) {
  const kept = new Map<string, { readonly value: Value; readonly until: number; readonly weight: number }>();
  let held = 0;

  function forget(key: string): void {
    held -= kept.get(key)?.weight ?? 0;
    kept.delete(key);
  }

  return {
    get(key: string): Value | undefined {
      const found = kept.get(key);
      if (found === undefined) return undefined;
      if (found.until <= clock.now()) {
        forget(key);
        return undefined;
      }
      // A Map keeps insertion order, so reinserting keeps the least recently used entry first.
      kept.delete(key);
      kept.set(key, found);
      return found.value;
    },

    set(key: string, value: Value, keepMs = usuallyMs): void {
      forget(key);
      const weight = weigh(value);
      if (weight > room) return;
      kept.set(key, { value, until: clock.now() + keepMs, weight });
      held += weight;
      for (const oldest of kept.keys()) {
        if (held <= room) break;
        forget(oldest);
      }
    },

    forget,
  };
}
