export interface GatherOptions<Item, Result> {
  /** Does the work for all of them at once; one result for each, in order. */
  readonly run: (items: readonly Item[]) => Promise<readonly Result[]>;
  readonly atOnce: number;
  readonly mostInFlight: number;
  /** Whether one of the lot may have failed it, and has left nothing behind: then each is done by itself. */
  readonly isOfOne?: (error: unknown) => boolean;
}

interface Waiting<Item, Result> {
  readonly item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/**
 * While one lot is under way, whatever arrives gathers into the next: one question to the chain, or one commit, for many
 * requests. There is no timer, so whoever comes alone waits for nobody. A lot that fails fails for all of it, unless `isOfOne` says
 * otherwise.
 */
export function createGatherer<Item, Result>({
  run,
  atOnce,
  mostInFlight,
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

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      schedule();
    });
}
