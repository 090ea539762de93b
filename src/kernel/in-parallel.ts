/** Runs `work` for each item with limited concurrency and returns the results in order. The first failure stops it. */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  let failed = false;
  async function takeTurns(): Promise<void> {
    while (next < items.length && !failed) {
      const place = next++;
      try {
        results[place] = await work(items[place] as Item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, takeTurns));
  return results;
}
