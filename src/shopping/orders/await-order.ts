import type { Queryable } from '../../kernel/db/database.ts';

const lookEveryMs = 60;

/** Resolves when the order has ended, or after a timeout. */
export type WaitForOrder = (id: string) => Promise<void>;

/** Waits for orders that any process may finish. One polling query serves all waiting requests of this process. */
export function createWaitForOrder(db: Queryable, withinMs: number): WaitForOrder {
  const waiting = new Map<string, Set<() => void>>();
  let looking = false;

  async function look(): Promise<void> {
    while (waiting.size > 0) {
      await new Promise((next) => setTimeout(next, lookEveryMs));
      // A failed query is retried in the next round; each request has its own timeout.
      const { rows } = await db
        .query<{ id: string }>('SELECT id FROM orders WHERE id = ANY ($1) AND finished_at IS NOT NULL', [
          [...waiting.keys()],
        ])
        .catch(() => ({ rows: [] }));
      for (const { id } of rows) for (const tell of waiting.get(id) ?? []) tell();
    }
    looking = false;
  }

  return (id) =>
    new Promise((resolve) => {
      const all = waiting.get(id) ?? new Set();
      const done = () => {
        clearTimeout(timer);
        all.delete(done);
        if (all.size === 0) waiting.delete(id);
        resolve();
      };
      const timer = setTimeout(done, withinMs);
      all.add(done);
      waiting.set(id, all);
      if (looking) return;
      looking = true;
      void look();
    });
}
