import type { Queryable } from '../../kernel/db/database.ts';
import type { Caller } from '../../kernel/http/define-route.ts';
import { fromTypeId } from '../../kernel/ids/typeid.ts';
import type { DecisionRecord } from './record.ts';

/** A record that waits for the chain has no number yet. */
export type ReadDecision = Omit<DecisionRecord, 'seq'> & { readonly seq: string | null };

export type Reader = Pick<Caller, 'accountId' | 'keyId'>;

interface DecisionFilter {
  readonly outcome: DecisionRecord['outcome'] | undefined;
  readonly key: string | undefined;
  readonly since: Date | undefined;
  readonly until: Date | undefined;
}

export interface DecisionQuery extends DecisionFilter {
  readonly reader: Reader;
  readonly limit: number;
  /** The id of the last decision of the page before. */
  readonly cursor: string | undefined;
}

/**
 * The keys whose decisions a key may read: its own place and those below it. Null stands for all of the account: of a root that the owner
 * has not limited (`speaksForOwner`).
 */
export async function readableKeys(db: Queryable, { accountId, keyId }: Reader): Promise<readonly string[] | null> {
  const { rows } = await db.query<{ keys: readonly string[] | null }>(
    `SELECT CASE WHEN cardinality(c.path) > 1 OR EXISTS (SELECT FROM key_policies p WHERE p.place = c.place) THEN
              ARRAY(SELECT k.id FROM api_keys k WHERE k.account_id = c.account_id AND c.place = ANY (k.path)) END AS keys
       FROM api_keys c WHERE c.id = $1 AND c.account_id = $2`,
    [keyId, accountId],
  );
  return rows[0] === undefined ? [] : rows[0].keys;
}

/** Newest first, one more than the limit. Those that wait for the chain are among them. */
export async function listDecisions(db: Queryable, query: DecisionQuery): Promise<ReadDecision[]> {
  const { reader, limit, cursor, outcome, key, since, until } = query;
  const readable = await readableKeys(db, reader);
  const keys = key === undefined ? readable : (readable ?? [key]).filter((one) => one === key);
  const before = cursor === undefined ? null : (fromTypeId('dec', cursor) ?? null);
  // A constant, so that the planner finds the index of the refused.
  const isOutcome = outcome === undefined ? '' : `AND d.outcome = '${outcome}'`;
  const chained = `SELECT d.id, d.record FROM policy_decisions d
      WHERE d.account_id = $1 ${keys === null ? '' : 'AND d.key_id = k.id'} ${isOutcome} AND ($2::uuid IS NULL OR d.id < $2)
        AND ($3::timestamptz IS NULL OR d.at >= $3) AND ($4::timestamptz IS NULL OR d.at < $4)
      ORDER BY d.id DESC LIMIT $5`;
  const ofKeys = `SELECT d.record FROM unnest($6::text[]) k (id) CROSS JOIN LATERAL (${chained}) d ORDER BY d.id DESC LIMIT $5`;
  const values = [reader.accountId, before, since ?? null, until ?? null, limit + 1];
  // First what waits: what is chained between the two is then found twice, and not missed.
  const waiting = await db.query<{ text: string }>(
    `SELECT w.text FROM written_decisions w
      WHERE w.account_id = $1 AND ($6::text[] IS NULL OR w.key_id = ANY ($6)) AND ($2::uuid IS NULL OR w.id < $2)
        AND ($3::timestamptz IS NULL OR w.at >= $3) AND ($4::timestamptz IS NULL OR w.at < $4)
        AND ($7::text IS NULL OR w.outcome = $7)
      ORDER BY w.id DESC LIMIT $5`,
    [...values, keys, outcome ?? null],
  );
  const { rows } = await (keys === null
    ? db.query<{ record: string }>(chained, values)
    : db.query<{ record: string }>(ofKeys, [...values, keys]));
  const found = rows.map(({ record }) => JSON.parse(record) as DecisionRecord);
  const numbered = new Set(found.map(({ id }) => id));
  const open = waiting.rows.flatMap(({ text }) => {
    const record = JSON.parse(`${text}}`) as Omit<DecisionRecord, 'seq'>;
    return numbered.has(record.id) ? [] : [{ ...record, seq: null }];
  });
  return [...open, ...found].sort((one, other) => (one.id < other.id ? 1 : -1)).slice(0, limit + 1);
}
