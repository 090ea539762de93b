import type { Queryable } from '../kernel/db/database.ts';
import type { Policy } from './policy.ts';

/** The policy of a key, and how the key is called. */
export interface KeyPolicy {
  readonly place: string;
  /** The newest key of the place. */
  readonly key: string;
  readonly name: string | null;
  /** Undefined where it is longer than what was asked for. */
  readonly policy: Policy | undefined;
  readonly version: string;
  readonly ruleCount: number;
  readonly budgetCount: number;
}

/** A page that lists many keys reads only the short ones: an account may have a thousand long policies. */
const shortLength = 2_000;

/** Of the keys at these places, in their order. */
export async function listPolicies(db: Queryable, { accountId, places, length }: PolicyQuery): Promise<KeyPolicy[]> {
  const { rows } = await db.query<Omit<KeyPolicy, 'policy'> & { readonly policy: Policy | null }>(
    `SELECT kp.place, k.id AS key, k.name, kp.version,
            CASE WHEN $3::integer IS NULL OR length(kp.policy::text) <= $3 THEN kp.policy END AS policy,
            coalesce(jsonb_array_length(kp.policy -> 'rules'), 0) AS rule_count,
            jsonb_array_length(kp.policy -> 'budgets') AS budget_count
       FROM key_policies kp JOIN api_keys k ON k.id = ledger.key_at(kp.place)
      WHERE kp.account_id = $1 AND kp.place = ANY ($2) ORDER BY array_position($2, kp.place)`,
    [accountId, places, length === 'short' ? shortLength : null],
  );
  return rows.map((row) => ({ ...row, policy: row.policy ?? undefined }));
}

interface PolicyQuery {
  readonly accountId: bigint;
  readonly places: readonly string[];
  readonly length: 'short' | 'any';
}
