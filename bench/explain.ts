import type { Database, Queryable } from '../src/kernel/db/database.ts';

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Index Name'?: string;
  readonly 'Relation Name'?: string;
  readonly Plans?: readonly PlanNode[];
}

/** Everything that a piece of work reads or changes, and by which index. What has none is read from end to end. */
export interface Plans {
  readonly indexes: readonly string[];
  readonly scanned: readonly string[];
}

/** Does the work once, and asks before each of its statements how the database is going to find the rows. */
export async function explain(db: Database, work: (db: Database) => Promise<unknown>): Promise<Plans> {
  const indexes = new Set<string>();
  const scanned = new Set<string>();
  const note = (node: PlanNode) => {
    if (node['Index Name'] !== undefined) indexes.add(node['Index Name']);
    if (node['Node Type'] === 'Seq Scan') scanned.add(node['Relation Name'] ?? '?');
    for (const child of node.Plans ?? []) note(child);
  };
  const explaining = (inner: Queryable): Queryable['query'] => {
    return async (text, values) => {
      const { rows } = await inner.query<{ 'QUERY PLAN': readonly { Plan: PlanNode }[] }>(
        `EXPLAIN (FORMAT JSON) ${text}`,
        values,
      );
      for (const { Plan } of rows[0]?.['QUERY PLAN'] ?? []) note(Plan);
      return inner.query(text, values);
    };
  };
  await work({
    ...db,
    query: explaining(db),
    transaction: (within, options) =>
      db.transaction((tx) => within({ inTransaction: true, query: explaining(tx) }), options),
  });
  return { indexes: [...indexes].sort(), scanned: [...scanned].sort() };
}
