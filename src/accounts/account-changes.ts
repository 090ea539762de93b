import { randomUUID } from 'node:crypto';
import type { Database, Transaction } from '../kernel/db/database.ts';
import { type Listener, listenerName, startListener } from '../kernel/db/listener.ts';
import type { Logger } from '../kernel/log/logger.ts';

const changedChannel = 'account_changed';
const seenChannel = 'account_change_seen';
/** An instance that is only busy has its say by then. What one that hangs remembers moves no money: the ledger asks the database. */
const longestWaitMs = 5_000;

/**
 * Tells every instance that an account has changed (a key revoked, another tier, frozen), so that none goes on with what
 * it remembered. A change is announced in its own commit, and each instance confirms: when `everywhere` returns, no
 * instance answers from before, unless it was waited for in vain, which is logged.
 */
export interface AccountChanges {
  readonly connected: boolean;
  /** Runs the change in a transaction, announces it with the commit and returns once every instance has heard. */
  everywhere<Result>(accountId: bigint, change: (tx: Transaction) => Promise<Result>): Promise<Result>;
  stop(): Promise<void>;
}

export interface AccountChangesOptions {
  readonly db: Database;
  readonly url: string;
  readonly logger: Logger;
  readonly onChange: (accountId: bigint) => void;
  /** Changes may have been missed: forget everything. */
  readonly onGap: () => void;
}

export async function startAccountChanges(options: AccountChangesOptions): Promise<AccountChanges> {
  const { db, logger, onChange } = options;
  const waiting = new Map<string, () => void>();

  const listener: Listener = await startListener({
    url: options.url,
    logger,
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

  /** Counts confirmations from now on; `complete` returns when every listening instance has sent its own. */
  function expectConfirmations(changeId: string): { complete(): Promise<void> } {
    let seen = 0;
    let onSeen = () => {};
    waiting.set(changeId, () => {
      seen++;
      onSeen();
    });
    return {
      async complete() {
        // One that is cut off at this moment is not counted, and has forgotten everything already.
        const expected = await countListeners(db);
        await new Promise<void>((resolve) => {
          const timeout = setTimeout(() => {
            logger.warn({ seen, expected }, 'not every instance confirmed an account change in time');
            resolve();
          }, longestWaitMs);
          onSeen = () => {
            if (seen < expected) return;
            clearTimeout(timeout);
            resolve();
          };
          onSeen();
        });
      },
    };
  }

  return {
    get connected() {
      return listener.connected;
    },
    async everywhere(accountId, change) {
      const changeId = randomUUID();
      const confirmations = expectConfirmations(changeId);
      try {
        const result = await db.transaction(async (tx) => {
          const done = await change(tx);
          await tx.query('SELECT pg_notify($1, $2)', [changedChannel, `${changeId} ${accountId}`]);
          return done;
        });
        onChange(accountId);
        await confirmations.complete();
        return result;
      } finally {
        waiting.delete(changeId);
      }
    },
    stop: () => listener.stop(),
  };
}

async function countListeners(db: Database): Promise<number> {
  const { rows } = await db.query<{ count: bigint }>(
    'SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database()',
    [listenerName],
  );
  return Number(rows[0]?.count ?? 0);
}

/** For a command that runs beside the instances and does not listen itself. */
export async function announceAccountChange(tx: Transaction, accountId: bigint): Promise<void> {
  await tx.query('SELECT pg_notify($1, $2)', [changedChannel, `${randomUUID()} ${accountId}`]);
}
