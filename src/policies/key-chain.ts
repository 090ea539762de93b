import type { Queryable } from '../kernel/db/database.ts';
import type { Currency } from '../money/catalogue.ts';
import type { Operation } from './consent.ts';
import type { Policy } from './policy.ts';
import { type CompiledRules, compileRules } from './rules.ts';

/** A budget that payments of a key take from. */
interface ChainBudget {
  /** In the ledger. */
  readonly id: bigint;
  readonly place: string;
  readonly name: string;
  readonly currency: Currency;
  /** Undefined when all operations count. */
  readonly operations: ReadonlySet<Operation> | undefined;
}

/** What a key and all keys above it say, ready to be asked. The caller's own comes first. */
export interface KeyChain {
  /** Of the account when this was read. */
  readonly stamp: bigint;
  readonly isFrozen: boolean;
  readonly places: readonly string[];
  /** The keys at these places, by which people know them. */
  readonly keys: ReadonlyMap<string, string>;
  readonly policies: readonly { readonly place: string; readonly version: string }[];
  readonly rules: readonly CompiledRules[];
  readonly budgets: readonly ChainBudget[];
  /** The length of its policies as text. Compiled they take about eight times as much memory. */
  readonly weight: number;
}

interface PlaceRow {
  readonly stamp: bigint;
  readonly place: string;
  readonly key: string | null;
  readonly isFrozen: boolean;
  readonly policy: Policy | null;
  readonly version: string | null;
  readonly weight: number;
  readonly budgets: Readonly<Record<string, number>> | null;
}

/** One statement, so that stamp, policies and freezes are of the same moment. */
export async function readChain(db: Queryable, keyId: string): Promise<KeyChain> {
  const { rows } = await db.query<PlaceRow>(
    `SELECT coalesce(s.stamp, 0) AS stamp, p.place, ledger.key_at(p.place) AS key, f.place IS NOT NULL AS is_frozen,
            kp.policy, kp.version, coalesce(length(kp.policy::text), 0) AS weight,
            (SELECT jsonb_object_agg(b.name, b.id) FROM ledger.budgets b WHERE b.place = p.place AND b.is_active) AS budgets
       FROM api_keys k
       CROSS JOIN LATERAL unnest(k.path) WITH ORDINALITY p (place, depth)
       LEFT JOIN key_stamps s ON s.account_id = k.account_id
       LEFT JOIN frozen_places f ON f.place = p.place
       LEFT JOIN key_policies kp ON kp.place = p.place
      WHERE k.id = $1 ORDER BY p.depth DESC`,
    [keyId],
  );
  return {
    stamp: rows[0]?.stamp ?? 0n,
    isFrozen: rows.some(({ isFrozen }) => isFrozen),
    places: rows.map(({ place }) => place),
    keys: new Map(rows.map(({ place, key }, above) => [place, above === 0 ? keyId : (key ?? place)])),
    policies: rows.flatMap(({ place, version }) => (version === null ? [] : [{ place, version }])),
    rules: rows.flatMap(({ place, policy }) => (policy?.rules ? [compileRules(place, policy.rules)] : [])),
    budgets: rows.flatMap(budgetsOf),
    weight: rows.reduce((sum, { weight }) => sum + weight, 0),
  };
}

function budgetsOf({ place, policy, budgets }: PlaceRow): ChainBudget[] {
  return (policy?.budgets ?? []).map(({ id: name, currency, operations }) => {
    const id = budgets?.[name];
    // Both are written in one commit. Without it a payment would not be counted.
    if (id === undefined) throw new Error(`the budget ${name} of ${place} is not in the ledger`);
    return { id: BigInt(id), place, name, currency, operations: operations && new Set(operations) };
  });
}

/** The id by which people know a place: that of its newest key, which rotations replace. */
export async function keyAt(db: Queryable, place: string): Promise<string> {
  const { rows } = await db.query<{ key: string | null }>('SELECT ledger.key_at($1) AS key', [place]);
  return rows[0]?.key ?? place;
}
