import type { Queryable, Transaction } from '../db/database.ts';
import type { Caller } from '../http/define-route.ts';
import { defineErrors, type Problem } from '../http/problem.ts';
import { secondsLeftToday, takenToday, takeToday } from './take-today.ts';

export const dailyCapErrors = defineErrors({
  daily_cap_reached: {
    status: 429,
    title: 'Daily cap reached',
    detail:
      'The account has reached its daily limit for this operation; days are in UTC. Wait the number of seconds in Retry-After, then try again. Enterprise accounts have no such limit.',
  },
});

/**
 * How many of each an account may create per day (UTC) without paying. An honest account stays far below; the request
 * rate alone would allow 86,400 a day, and 432,000 on the pro tier. docs/security.md derives the disk usage from
 * these.
 * Only creation is counted. Undoing it (revoking a key, deleting a webhook, removing an address) is never refused, so
 * a thief who uses up a cap cannot keep the owner from undoing the damage. It is bounded by what was created.
 */
export const dailyCaps = {
  invoices: { most: 1_000, named: 'invoices' },
  fundingLinks: { most: 500, named: 'funding links' },
  keys: { most: 500, named: 'API keys' },
  /** Per network, so that a thief elsewhere cannot lock the owner out. Once a minute is 1,440. */
  signIns: { most: 2_000, named: 'sign-ins' },
  /** Per account, from all networks together. Beyond the cap a wrong password is still refused, but no longer recorded. */
  failedSignIns: { most: 1_000, named: 'failed sign-ins' },
  /** Of the second factor. Beyond the cap none is checked until the next day; passkeys still are. */
  wrongCodes: { most: 30, named: 'wrong codes' },
  webhooks: { most: 200, named: 'webhooks' },
  webhookTests: { most: 500, named: 'test events' },
  webhookRetries: { most: 1_000, named: 'repeated deliveries' },
  /** Each search keeps a page of up to 24 KB for a day. GET /nano/search is paid for and not counted. */
  searches: { most: 2_000, named: 'searches' },
  /** Saved addresses, the allow-list, the tier, and unfreezing keys. */
  settings: { most: 200, named: 'changes of the account' },
  domains: { most: 200, named: 'changes of domains' },
  /** Of keys. A program may adjust the budgets of many keys every hour. */
  policies: { most: 5_000, named: 'changes of policies' },
  /** Beyond the cap a payment is still refused, but no longer recorded. */
  refusals: { most: 2_000, named: 'recorded refusals' },
  /** With an id that the key never had: what was spent under an id is kept when the budget leaves the policy. */
  budgets: { most: 5_000, named: 'new budgets' },
  /** Questions to the owner, each with an email. */
  approvals: { most: 200, named: 'approvals' },
  /** The wallet is created once, but the response is stored for each Idempotency-Key. */
  walletRequests: { most: 500, named: 'requests for a wallet with an Idempotency-Key' },
  /** Orders that the buyer must complete at the shop. No money is held for them. */
  handedOverOrders: { most: 200, named: 'orders that need their buyer' },
} as const;

export type CappedKind = keyof typeof dailyCaps;

/** With a `session`, the owner on the website, who is counted apart: no key can use up what the owner needs to stop it. */
type Writer = Pick<Caller, 'accountId' | 'tier'> & { readonly session?: string };

/**
 * Counts what an account creates without paying, in the transaction that creates it, and throws once the daily cap is
 * reached. A rollback undoes the count, and an idempotent replay is not counted. Enterprise accounts are exempt: the
 * operator knows them.
 */
export async function countToday(tx: Transaction, writer: Writer, kind: CappedKind, places = 1): Promise<void> {
  if (writer.tier === 'enterprise' || places === 0) return;
  const taken = await takeToday(tx, { scope: scopeOf(writer, kind), limit: dailyCaps[kind].most, places });
  if (taken === undefined) throw await capReached(tx, kind);
}

/** Checks the cap before slow work begins. Only `countToday`, in the transaction, is binding. */
export async function refuseBeyondCap(db: Queryable, writer: Writer, kind: CappedKind): Promise<void> {
  if (writer.tier === 'enterprise') return;
  if ((await takenToday(db, scopeOf(writer, kind))) >= dailyCaps[kind].most) throw await capReached(db, kind);
}

export async function capReached(db: Queryable, kind: CappedKind): Promise<Problem> {
  const { most, named } = dailyCaps[kind];
  const seconds = await secondsLeftToday(db);
  return dailyCapErrors.daily_cap_reached(
    `The account has reached its daily limit of ${most} ${named}; days are in UTC. Try again in ${seconds} seconds, or ask the operator for an enterprise account.`,
    { headers: { 'Retry-After': String(seconds) } },
  );
}

function scopeOf({ accountId, session }: Writer, kind: CappedKind): string {
  return `${kind}:${session === undefined ? 'account' : 'owner'}:${accountId}`;
}
