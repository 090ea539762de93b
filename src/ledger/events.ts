import type { Transaction } from '../kernel/db/database.ts';
import { newUuid, toTypeId } from '../kernel/ids/typeid.ts';
import { knownCodes } from './account-id.ts';
import { asEarlier, type EarlierPosting } from './post-batch.ts';
import type { Posted } from './posting.ts';

/** The public id, the same for every delivery. */
type EventId = `evt_${string}`;

/** An event of an account that a webhook subscribed to. */
export interface LedgerEvent {
  readonly id: EventId;
  readonly accountId: bigint;
  readonly type: string;
  readonly createdAt: Date;
  /** The posting that caused it. Undefined when the event brought its own data. */
  readonly posting: Posted | undefined;
  readonly data: unknown;
}

export interface NewEvent {
  readonly accountId: bigint;
  readonly type: string;
  /** The webhook's payload: plain JSON. */
  readonly data: Readonly<Record<string, unknown>>;
}

/**
 * Records an event that no posting causes, in the caller's commit, if the account subscribed to that type. A posting
 * records its own (`senderEvent`, `recipientEvent`). Call it before posting: the posting comes last.
 */
export async function recordEvent(tx: Transaction, { accountId, type, data }: NewEvent): Promise<void> {
  await tx.query(
    `INSERT INTO ledger.events (id, account_id, type, data, created_at)
     SELECT $1, s.account_id, s.type, $4, clock_timestamp() FROM ledger.event_subscriptions s
      WHERE s.account_id = $2 AND s.type = $3`,
    [newUuid(Date.now()), accountId, type, JSON.stringify(data)],
  );
}

interface EventRow extends Omit<LedgerEvent, 'id' | 'posting'> {
  readonly id: string;
  /** What ledger.describe returns. */
  readonly posting: EarlierPosting | null;
}

interface Take {
  readonly most: number;
  /** Older events are not looked for: what was removed stays in the index for a while, and need not be read again. */
  readonly since?: Date | undefined;
  /** Whether events of accounts with a feed are taken, too. Only one transaction at a time may, to keep their order. */
  readonly feeds: boolean;
}

/**
 * Removes waiting events, oldest first, and returns them: only the transaction that commits has them. Events that
 * another transaction is taking are skipped.
 */
export async function takeEvents(tx: Transaction, { most, since = new Date(0), feeds }: Take): Promise<LedgerEvent[]> {
  const { rows } = await tx.query<EventRow>('SELECT * FROM ledger.take_events($1, $2, $3, $4)', [
    most,
    since.getTime().toString(16).padStart(12, '0').padEnd(32, '0'),
    knownCodes.assets,
    feeds,
  ]);
  return rows.map((row) => ({
    ...row,
    id: toTypeId('evt', row.id),
    posting: row.posting === null ? undefined : asEarlier(row.posting),
  }));
}

/**
 * Replaces the set of events that are recorded for an account, from this commit on. The caller holds the account's row
 * lock, so that concurrent changes do not overwrite each other.
 */
export async function setSubscriptions(tx: Transaction, accountId: bigint, types: readonly string[]): Promise<void> {
  await tx.query('DELETE FROM ledger.event_subscriptions WHERE account_id = $1 AND type <> ALL ($2)', [
    accountId,
    types,
  ]);
  await tx.query(
    `INSERT INTO ledger.event_subscriptions (account_id, type) SELECT $1, unnest($2::text[]) ON CONFLICT DO NOTHING`,
    [accountId, types],
  );
}
