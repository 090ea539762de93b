import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Database } from '../../src/kernel/db/database.ts';
import { tryHoldLock } from '../../src/kernel/db/locks.ts';
import { WritableClient } from '../../src/kernel/db/writable-client.ts';
import type { Logger } from '../../src/kernel/log/logger.ts';
import { homeChain } from '../../src/money/catalogue.ts';
import { type ChainUrls, findPublished } from './chain-tables.ts';
import { type RunningChains, runChains } from './run-chains.ts';

/** Identifies the session in pg_stat_activity. */
export const keeperName = 'paywright-chains';

const askEveryMs = 1_000;
const publishedWithinMs = 60_000;
const waitForPortMs = 5_000;

/**
 * One process per database runs the chains: the one whose session holds the lock. The others stand by and take over on the same
 * port. The journal is written through that session, so a process that loses it can write nothing more; it discards its chains
 * and stands by.
 */
export async function keepChains(db: Database, logger: Logger) {
  let stopped = false;
  let session: { readonly client: pg.Client; readonly ended: Promise<void>; running?: RunningChains } | undefined;
  const stopSignal = new AbortController();

  /** Returns whether this process runs the chains. */
  async function tryToKeep(portPatienceMs: number): Promise<boolean> {
    session ??= await openSession(db);
    const { client, running } = session;
    if (running !== undefined) return true;
    if (!(await tryHoldLock(client, 'sandboxChains'))) return false;
    session.running = await runChains({ db, client, logger, waitForPortMs: portPatienceMs });
    return true;
  }

  async function closeSession(): Promise<void> {
    const closing = session;
    session = undefined;
    await closing?.running?.stop();
    await closing?.client.end().catch(() => {});
  }

  /** Runs the chains or stands by, until it is stopped. */
  async function watch(urls: ChainUrls): Promise<void> {
    while (!stopped) {
      try {
        if (session?.running !== undefined) {
          await Promise.race([session.ended, once(stopSignal.signal, 'abort')]);
          if (stopped) return;
          logger.warn('lost the database session that holds the local chains; restarting them');
          await closeSession();
        }
        if (!(await tryToKeep(waitForPortMs))) await sleep(askEveryMs, undefined, { signal: stopSignal.signal });
        else if (session?.running?.urls.get(homeChain) !== urls.get(homeChain)) {
          logger.error('another program took the port of the local chains; restart the service to use the new port');
        }
      } catch (err) {
        if (stopped) return;
        logger.warn({ err }, 'could not start the local chains; retrying');
        await closeSession();
        await sleep(askEveryMs, undefined, { signal: stopSignal.signal }).catch(() => {});
      }
    }
  }

  try {
    const urls = await startOrJoin(db, () => tryToKeep(0));
    const watching = watch(urls);
    return {
      urls,
      async stop(): Promise<void> {
        stopped = true;
        stopSignal.abort();
        await watching;
        await closeSession();
      },
    };
  } catch (error) {
    await closeSession();
    throw error;
  }
}

async function startOrJoin(db: Database, tryToKeep: () => Promise<boolean>): Promise<ChainUrls> {
  const deadline = Date.now() + publishedWithinMs;
  while (Date.now() < deadline) {
    await tryToKeep();
    const { urls } = await findPublished(db);
    if (urls !== undefined) return urls;
    await sleep(100);
  }
  throw new Error('another process holds the local chains but does not serve them');
}

async function openSession(db: Database): Promise<{ client: pg.Client; ended: Promise<void> }> {
  const client = new WritableClient({ ...db.pool.options, application_name: keeperName });
  const ended = new Promise<void>((resolve) => {
    client.on('error', () => resolve());
    client.on('end', () => resolve());
  });
  await client.connect();
  return { client, ended };
}
