import { once } from 'node:events';
import type { Writable } from 'node:stream';

/** What a client must take in a second, on the average and after our patience is used up. */
const leastCharactersPerMs = 8;

/** Somebody who reads what we write, as fast as they like and not slower than they must. */
export interface Reader {
  /** Returns when there is room for more; the body is destroyed when the reader has left or takes too long. */
  give(text: string): Promise<void>;
}

/**
 * Writes no faster than the client reads. It may leave us waiting for as long as we are patient, and for longer only by
 * reading: one who stops, or takes a byte now and then, is let go.
 */
export function createReader(body: Writable, patienceMs: number): Reader {
  let leftMs = patienceMs;

  return {
    async give(text) {
      if (body.destroyed) return;
      leftMs = Math.min(patienceMs, leftMs + text.length / leastCharactersPerMs);
      if (body.write(text)) return;
      const since = performance.now();
      const giveUp = setTimeout(() => body.destroy(), Math.max(0, leftMs));
      const settled = new AbortController();
      await Promise.race(['drain', 'close'].map((name) => once(body, name, settled)))
        .catch(() => {})
        .finally(() => {
          clearTimeout(giveUp);
          settled.abort();
        });
      leftMs -= performance.now() - since;
    },
  };
}
