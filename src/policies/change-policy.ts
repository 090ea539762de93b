import { type Actor, admit } from '../accounts/actor.ts';
import { recordAudit } from '../accounts/audit/record.ts';
import { raiseStamp } from '../accounts/keys/stamp.ts';
import { mailOwner } from '../accounts/mail-owner.ts';
import { countToday } from '../kernel/daily-caps/count-today.ts';
import type { Transaction } from '../kernel/db/database.ts';
import { httpErrors } from '../kernel/http/errors.ts';
import type { Secrets } from '../kernel/secrets/secrets.ts';
import { assetCode } from '../ledger/account-id.ts';
import { recordEvent } from '../ledger/events.ts';
import { lockOwner } from '../ledger/require-live-key.ts';
import { amountFromNumber } from '../money/parse-amount.ts';
import { policyErrors } from './errors.ts';
import { findPlace, type PolicyPlace, requireAncestor } from './find-policy.ts';
import { type Budget, type Policy, versionOf } from './policy.ts';
import { isWider } from './widened.ts';

export interface PolicyChange {
  readonly actor: Actor;
  /** The key whose policy changes. */
  readonly key: string;
  /** The policy that the actor knows. Null if that is none, and undefined to replace any. */
  readonly ifMatch: string | null | undefined;
}

/** Replaces the policy of a key and the budgets in the ledger, in one commit. Returns the new version. */
export async function setPolicy(
  tx: Transaction,
  secrets: Secrets,
  change: PolicyChange,
  policy: Policy,
): Promise<string> {
  const version = versionOf(policy);
  const found = await beginChange(tx, change);
  if (found.version === version) return version;
  const { accountId } = change.actor;
  await countToday(tx, change.actor, 'policies');
  await countNewBudgets(tx, change.actor, found.place, policy.budgets);
  await raiseStamp(tx, accountId);
  await tx.query(
    `INSERT INTO key_policies (place, account_id, policy, version) VALUES ($1, $2, $3, $4)
     ON CONFLICT (place) DO UPDATE SET policy = excluded.policy, version = excluded.version, changed_at = now()`,
    [found.place, accountId, JSON.stringify(policy), version],
  );
  await writeBudgets(tx, { accountId, place: found.place }, policy.budgets);
  await tellThresholds(tx, found.place);
  await announce(tx, secrets, change, { before: found.policy ?? undefined, after: policy, version });
  return version;
}

export async function removePolicy(tx: Transaction, secrets: Secrets, change: PolicyChange): Promise<void> {
  const { place, policy } = await beginChange(tx, change);
  if (policy === null) throw policyErrors.policy_not_found();
  const { accountId } = change.actor;
  await raiseStamp(tx, accountId);
  await tx.query('DELETE FROM key_policies WHERE place = $1', [place]);
  await writeBudgets(tx, { accountId, place }, []);
  await announce(tx, secrets, change, { before: policy, after: undefined, version: null });
}

/** Keeps out payments until the commit, and refuses an actor that may not change this policy or that knows an older one. */
async function beginChange(tx: Transaction, { actor, key, ifMatch }: PolicyChange): Promise<PolicyPlace> {
  await lockOwner(tx, actor.accountId);
  await admit(tx, actor);
  const found = await findPlace(tx, actor, key);
  requireAncestor(found);
  if (ifMatch !== undefined && !matches(ifMatch, found.version)) throw policyErrors.policy_changed();
  return found;
}

/** RFC 9110: a list of strong tags, or `*` for any policy at all. The version without quotes means the same. */
function matches(ifMatch: string | null, version: string | null): boolean {
  if (ifMatch === null || version === null) return ifMatch === version;
  const tags = ifMatch.split(',').map((tag) => tag.trim());
  return ['*', version, `"${version}"`].some((tag) => tags.includes(tag));
}

/**
 * A budget that is no longer in the policy keeps what was spent and counts no longer. Under its id it comes back with it, so an id
 * always means the same window.
 */
async function writeBudgets(
  tx: Transaction,
  { accountId, place }: { readonly accountId: bigint; readonly place: string },
  budgets: readonly Budget[],
): Promise<void> {
  await tx.query('UPDATE ledger.budgets SET is_active = false WHERE place = $1 AND is_active AND name <> ALL ($2)', [
    place,
    budgets.map(({ id }) => id),
  ]);
  for (const { id, amount, currency, window, timeZone, seconds = null, onExceed } of budgets) {
    const { rowCount } = await tx.query(
      `INSERT INTO ledger.budgets AS b (account_id, place, name, currency, span, time_zone, seconds, most, on_exceed)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
       ON CONFLICT (place, name) DO UPDATE SET most = excluded.most, on_exceed = excluded.on_exceed, is_active = true
        WHERE (b.currency, b.span, lower(b.time_zone)) = (excluded.currency, excluded.span, lower(excluded.time_zone))
          AND b.seconds IS NOT DISTINCT FROM excluded.seconds`,
      [accountId, place, id, assetCode(currency), window, timeZone, seconds, atomicOf({ amount, currency }), onExceed],
    );
    if (rowCount === 0) throw anotherWindow(id);
  }
}

/** All ids that a key ever had. Their budgets are read with each policy that is loaded, and stay for ever. */
const mostIds = 100;

async function countNewBudgets(
  tx: Transaction,
  actor: Actor,
  place: string,
  budgets: readonly Budget[],
): Promise<void> {
  const { rows } = await tx.query<{ name: string }>('SELECT name FROM ledger.budgets WHERE place = $1', [place]);
  const before = new Set(rows.map(({ name }) => name));
  const added = budgets.filter(({ id }) => !before.has(id)).length;
  if (added > 0 && before.size + added > mostIds) {
    const message = `would give the key more than ${mostIds} different ids of budgets since it exists: use earlier ids again`;
    throw httpErrors.invalid_request(`budgets ${message}.`, { errors: [{ path: 'budgets', message }] });
  }
  await countToday(tx, actor, 'budgets', added);
}

/** A lower limit may be reached by what was spent before. */
async function tellThresholds(tx: Transaction, place: string): Promise<void> {
  await tx.query(
    `SELECT ledger.tell_thresholds(b.id, o.bucket_now, o.spent_now, o.told_now, clock_timestamp())
       FROM ledger.budget_windows b
      CROSS JOIN LATERAL ledger.open_buckets(b.span, b.time_zone, b.seconds, b.nos, b.sums, b.spent, b.told, clock_timestamp()) o
      WHERE b.place = $1 AND b.is_active AND o.spent_now > 0 AND o.spent_now * 2 >= b.most AND o.told_now < 7`,
    [place],
  );
}

function atomicOf({ amount, currency }: Pick<Budget, 'amount' | 'currency'>): bigint {
  if (amount === 0) return 0n;
  const parsed = amountFromNumber(currency, amount);
  if (!parsed.ok) throw new Error(`a budget of ${amount} ${currency} ${parsed.message}`);
  return parsed.amount.atomic;
}

function anotherWindow(id: string): Error {
  const message = `has another currency or window than the budget "${id}" had before: give it another id`;
  return httpErrors.invalid_request(`budgets ${message}.`, { errors: [{ path: 'budgets', message }] });
}

interface Changed {
  readonly before: Policy | undefined;
  readonly after: Policy | undefined;
  readonly version: string | null;
}

async function announce(
  tx: Transaction,
  secrets: Secrets,
  { actor, key }: PolicyChange,
  { before, after, version }: Changed,
): Promise<void> {
  const widened = isWider(before, after);
  const { accountId } = actor;
  const byKey = 'keyId' in actor ? actor.keyId : null;
  await recordAudit(tx, {
    accountId,
    action: widened ? 'policy.widened' : 'policy.changed',
    by: actor,
    details: { key, version, rules: after?.rules?.length ?? null, budgets: after?.budgets.map(({ id }) => id) ?? [] },
  });
  await recordEvent(tx, { accountId, type: 'policy.changed', data: { key, version, widened, byKey } });
  if (!widened) return;
  const what = after === undefined ? 'removed the policy' : 'changed the policy';
  const who = byKey === null ? 'by the owner on the website' : `with the key ${byKey}`;
  await mailOwner(tx, secrets, accountId, {
    subject: 'An API key of your account may now spend more',
    text: `A request from ${actor.address} ${who} ${what} of the API key ${key}. The key may now make payments that were refused before.`,
  });
}
