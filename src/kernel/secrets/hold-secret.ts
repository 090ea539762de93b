import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { newClient } from '../db/connection-settings.ts';
import { endClient } from '../db/end.ts';
import { type Lock, tryShareLock } from '../db/locks.ts';
import type { Logger } from '../log/logger.ts';
import { Refusal } from '../refusal.ts';

/** The application_name of processes that seal, in pg_stat_activity. */
const sealerName = 'paywright-secret';

const retryMs = 500;

const retiredSql = 'SELECT FROM operator_secrets WHERE fingerprint = $1 AND retired_at IS NOT NULL';

/** Processes that seal share this lock. A rotation takes it exclusively. */
export function lockOfSecret(fingerprint: Buffer): Lock {
  return { kind: 'secretInUse', of: fingerprint.toString('hex') };
}

export interface HeldSecret {
  /** The secret was replaced while the connection was lost. Anything sealed with it from now on would be unreadable. */
  readonly retired: boolean;
  close(): Promise<void>;
}

interface HoldOptions {
  readonly url: string;
  readonly logger: Logger;
  readonly fingerprint: Buffer;
}

/**
 * Tells a rotation that this process seals with a secret, by a shared lock on a dedicated connection. The lock ends
 * with the process and is taken again when only the connection is lost.
 */
export async function holdSecret({ url, logger, fingerprint }: HoldOptions): Promise<HeldSecret> {
  let client: pg.Client | undefined;
  let stopped = false;
  let retired = false;

  /** Returns false when a rotation holds the lock. Closes the connection unless it holds the lock. */
  async function connect(): Promise<boolean> {
    const fresh = newClient({ url, applicationName: sealerName });
    fresh.on('error', () => drop(fresh));
    fresh.on('end', () => drop(fresh));
    try {
      await fresh.connect();
      const isShared = await tryShareLock(fresh, lockOfSecret(fingerprint));
      if (isShared) retired = (await fresh.query(retiredSql, [fingerprint])).rowCount !== 0;
      // close() may have been called meanwhile.
      if (isShared && !stopped && client === undefined) client = fresh;
      return isShared;
    } finally {
      if (client !== fresh) await endClient(fresh);
    }
  }

  function drop(dead: pg.Client): void {
    if (client !== dead) return;
    client = undefined;
    dead.end().catch(() => {});
    void hold();
  }

  async function hold(): Promise<void> {
    while (!stopped && !retired && client === undefined) {
      const isShared = await connect().catch(() => undefined);
      if (isShared === undefined) await sleep(retryMs);
      else if (!isShared) retired = true;
    }
    if (retired) logger.error('the secret of this process was replaced: restart it with the new secret');
  }

  if (!(await connect())) {
    throw new Refusal('PAYWRIGHT_SECRET is being replaced right now: start with the new secret.');
  }
  return {
    get retired() {
      return retired;
    },
    async close() {
      stopped = true;
      const open = client;
      client = undefined;
      if (open !== undefined) await endClient(open);
    },
  };
}
