import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { connectionSettings } from '../db/connection-settings.ts';
import { type Lock, tryShareLock } from '../db/locks.ts';
import type { Logger } from '../log/logger.ts';
import { Refusal } from '../refusal.ts';

/** How a process that seals is recognised in pg_stat_activity. */
const sealerName = 'paywright-secret';

const retryMs = 500;

const retiredSql = 'SELECT FROM operator_secrets WHERE fingerprint = $1 AND retired_at IS NOT NULL';

/** Many who seal with it share it; who retires it has it alone. */
export function lockOfSecret(fingerprint: Buffer): Lock {
  return { kind: 'secretInUse', of: fingerprint.toString('hex') };
}

export interface HeldSecret {
  /** The connection was lost while somebody replaced the secret: whatever is sealed with it from here on would be lost. */
  readonly retired: boolean;
  close(): Promise<void>;
}

/**
 * Says to whoever replaces secrets that this process seals with one: on a connection of its own, which goes when the process does,
 * however that happens, and comes again when only the connection was lost.
 */
export async function holdSecret({
  url,
  logger,
  fingerprint,
}: {
  readonly url: string;
  readonly logger: Logger;
  readonly fingerprint: Buffer;
}): Promise<HeldSecret> {
  let client: pg.Client | undefined;
  let stopped = false;
  let retired = false;

  /** False when somebody has it alone, who puts another one in its place. Nothing is left open that is not held. */
  async function connect(): Promise<boolean> {
    const fresh = new pg.Client(connectionSettings({ url, applicationName: sealerName }));
    fresh.on('error', () => drop(fresh));
    fresh.on('end', () => drop(fresh));
    try {
      await fresh.connect();
      const isShared = await tryShareLock(fresh, lockOfSecret(fingerprint));
      if (isShared) retired = await isRetired(fresh);
      // Meanwhile we may have been stopped.
      if (isShared && !stopped && client === undefined) client = fresh;
      return isShared;
    } finally {
      if (client !== fresh) await fresh.end().catch(() => {});
    }
  }

  function drop(dead: pg.Client): void {
    if (client !== dead) return;
    client = undefined;
    dead.end().catch(() => {});
    void hold();
  }

  async function isRetired(session: pg.Client): Promise<boolean> {
    const { rows } = await session.query(retiredSql, [fingerprint]);
    return rows.length > 0;
  }

  async function hold(): Promise<void> {
    while (!stopped && !retired && client === undefined) {
      const isShared = await connect().catch(() => undefined);
      if (isShared === undefined) await sleep(retryMs);
      else if (!isShared) retired = true;
    }
    if (retired) logger.error('the secret of this process was replaced: start it again with the new one');
  }

  if (!(await connect())) {
    throw new Refusal('PAYWRIGHT_SECRET is being replaced at this moment: start with the one that takes its place.');
  }
  return {
    get retired() {
      return retired;
    },
    async close() {
      stopped = true;
      const open = client;
      client = undefined;
      await open?.end().catch(() => {});
    },
  };
}
