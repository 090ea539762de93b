import { httpErrors } from '../../kernel/http/errors.ts';

export interface GatherOptions<Item, Result> {
  /** Returns one result per item, in order. */
  readonly run: (items: readonly Item[]) => Promise<readonly Result[]>;
  readonly atOnce: number;
  readonly mostInFlight: number;
  /** Items that may wait for their batch. One more is refused with 503. */
  readonly mostWaiting?: number;
  /** Whether a single item may have caused the error, and nothing was left behind. Then each item is retried alone. */
  readonly isOfOne?: (error: unknown) => boolean;
}

interface Waiting<Item, Result> {
  readonly item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/** Far more than one process answers within a second. */
const usuallyWaiting = 5_000;

/**
 * Batches items: while one batch runs, new items gather into the next, so that many requests share one chain call or
 * commit. There is no timer, so a single item does not wait. A failed batch fails all its items, unless `isOfOne` says
 * otherwise.
 */
export function createGatherer<Item, Result>({
  run,
  atOnce,
  mostInFlight,
  mostWaiting = usuallyWaiting,
  isOfOne = () => false,
}: GatherOptions<Item, Result>): (item: Item) => Promise<Result> {
  let waiting: Waiting<Item, Result>[] = [];
  let inFlight = 0;
  let scheduled = false;

  function schedule(): void {
    if (scheduled || waiting.length === 0 || inFlight >= mostInFlight) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      inFlight++;
      const lot = waiting.slice(0, atOnce);
      waiting = waiting.slice(atOnce);
      void answer(lot).finally(() => {
        inFlight--;
        schedule();
      });
      schedule();
    });
  }

  async function answer(lot: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await run(lot.map(({ item }) => item));
      for (const [index, { resolve }] of lot.entries()) resolve(results[index] as Result);
    } catch (error) {
      if (lot.length > 1 && isOfOne(error)) {
        for (const one of lot) await answer([one]);
        return;
      }
      for (const { reject } of lot) reject(error);
    }
  }

  return (item) => {
    if (waiting.length >= mostWaiting) return Promise.reject(tooBusy());
    return new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      schedule();
    });
  };
}

function tooBusy() {
  return httpErrors.unavailable('Too many payments are waiting. Send the same payment again: it is charged once.', {
    headers: { 'Retry-After': '1' },
  });
}
