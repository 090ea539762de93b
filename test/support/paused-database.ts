import type { Database, Transaction } from '../../src/kernel/db/database.ts';

/** The same database, with a pause before each statement that says this, inside its transaction. */
export function pausedAt(db: Database, words: string, pause: () => Promise<void>): Database {
  return {
    ...db,
    query: db.query,
    transaction: (work, options) =>
      db.transaction(async (tx) => {
        const query = async (text: string, values?: readonly unknown[]) => {
          if (text.includes(words)) await pause();
          return tx.query(text, values);
        };
        return work({ ...tx, query } as Transaction);
      }, options),
  };
}
