import { randomUUID } from 'node:crypto';
import { within } from '../kernel/clock.ts';
import type { Database, Transaction } from '../kernel/db/database.ts';
import { type Listener, startListener } from '../kernel/db/listener.ts';
import type { Logger } from '../kernel/log/logger.ts';

/** Every instance that confirms changes holds one connection of this name. */
const listenerName = 'paywright-listener';
const changedChannel = 'account_changed';
const seenChannel = 'account_change_seen';
/**
 * A merely busy instance confirms within this time. A hanging one cannot move money with stale data, because the
 * ledger checks the database.
 */
const longestWaitMs = 5_000;

/**
 * Tells every instance that an account has changed (a revoked key, another tier, a freeze), so that none keeps using
 * cached data. A change is announced in its own commit and every instance confirms it. When `everywhere` returns, no
 * instance serves the old state, unless the wait timed out, which is logged.
 */
export interface AccountChanges {
  readonly connected: boolean;
  /** Runs the change in a transaction, announces it with the commit, and returns once every instance has confirmed. */
  everywhere<Result>(accountId: bigint, change: (tx: Transaction) => Promise<Result>): Promise<Result>;
  stop(): Promise<void>;
}

export interface AccountChangesOptions {
  readonly db: Database;
  readonly url: string;
  readonly logger: Logger;
  readonly onChange: (accountId: bigint) => void;
  /** Changes may have been missed, so all cached data must be dropped. */
  readonly onGap: () => void;
}

export async function startAccountChanges(options: AccountChangesOptions): Promise<AccountChanges> {
  const { db, logger, onChange } = options;
  const waiting = new Map<string, () => void>();

  const listener: Listener = await startListener({
    url: options.url,
    logger,
    applicationName: listenerName,
    channels: [changedChannel, seenChannel],
    onDisconnect: options.onGap,
    onNotification(channel, payload) {
      if (channel === seenChannel) {
        waiting.get(payload)?.();
        return;
      }
      const [changeId = '', accountId = ''] = payload.split(' ');
      onChange(BigInt(accountId));
      db.query('SELECT pg_notify($1, $2)', [seenChannel, changeId]).catch((err: unknown) =>
        logger.warn({ err }, 'could not confirm an account change'),
      );
    },
  });

  /** Counts confirmations from now on. The returned function waits until every listening instance has confirmed. */
  function expectConfirmations(changeId: string): () => Promise<void> {
    let seen = 0;
    let onSeen = () => {};
    waiting.set(changeId, () => {
      seen++;
      onSeen();
    });
    return async () => {
      // An instance that is disconnected right now is not counted; it has already dropped its cache.
      const expected = await countListeners(db);
      const all = new Promise<void>((resolve) => {
        onSeen = () => {
          if (seen >= expected) resolve();
        };
        onSeen();
      });
      const late = () => logger.warn({ seen, expected }, 'not every instance confirmed an account change in time');
      await within(longestWaitMs, all, late);
    };
  }

  return {
    get connected() {
      return listener.connected;
    },
    async everywhere(accountId, change) {
      const changeId = randomUUID();
      const confirmed = expectConfirmations(changeId);
      try {
        const result = await db.transaction(async (tx) => {
          const done = await change(tx);
          await tx.query('SELECT pg_notify($1, $2)', [changedChannel, `${changeId} ${accountId}`]);
          return done;
        });
        onChange(accountId);
        await confirmed();
        return result;
      } finally {
        waiting.delete(changeId);
      }
    },
    stop: () => listener.stop(),
  };
}

async function countListeners(db: Database): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    'SELECT count(*)::integer FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database()',
    [listenerName],
  );
  return rows[0]?.count ?? 0;
}

/** For a command that runs beside the instances and does not listen itself. */
export async function announceAccountChange(tx: Transaction, accountId: bigint): Promise<void> {
  await tx.query('SELECT pg_notify($1, $2)', [changedChannel, `${randomUUID()} ${accountId}`]);
}
