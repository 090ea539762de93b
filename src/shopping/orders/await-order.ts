import type { Queryable } from '../../kernel/db/database.ts';

const lookEveryMs = 60;

/** Ends when the order is decided, or after a while. */
export type OrderWaits = (id: string) => Promise<void>;

/**
 * Waits until orders are decided, by whichever process. One look at the database serves all who wait in this one.
 */
export function createOrderWaits(db: Queryable, withinMs: number): OrderWaits {
  const waiting = new Map<string, Set<() => void>>();
  let looking = false;

  async function look(): Promise<void> {
    while (waiting.size > 0) {
      await new Promise((next) => setTimeout(next, lookEveryMs));
      // Who cannot look now looks again in a moment; everybody gives up after a while anyway.
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
