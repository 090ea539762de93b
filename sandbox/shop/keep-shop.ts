import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../src/kernel/log/logger.ts';
import { Refusal } from '../../src/kernel/refusal.ts';
import { lockDataDir, lockHolder } from '../data-dir.ts';

interface OpenedShop {
  readonly port: number;
  stop(): Promise<void>;
}

/** A shop that one of several processes runs. */
export interface KeptShop<Opened> {
  /** Its current port. */
  readonly port: number;
  /** Undefined while another process runs it. */
  readonly mine: Opened | undefined;
  stop(): Promise<void>;
}

export interface KeepShopOptions<Opened> {
  /** The shop's data. Without a folder every process has its own shop. */
  readonly folder: string | undefined;
  readonly logger: Logger;
  readonly open: (where: { readonly folder: string | undefined; readonly port: number }) => Promise<Opened>;
}

const lookEveryMs = 1_000;
const openWithinMs = 30_000;

/**
 * One process per folder runs the shop: the one that holds the lock. The others use its address, and one of them takes over, on
 * the same port if possible.
 */
export async function keepShop<Opened extends OpenedShop>(options: KeepShopOptions<Opened>): Promise<KeptShop<Opened>> {
  const { logger, open } = options;
  const folder = makeFolder(options.folder, logger);
  if (folder === undefined) {
    const mine = await open({ folder: undefined, port: 0 });
    return { port: mine.port, mine, stop: () => mine.stop() };
  }
  const address = join(folder, 'port');
  let mine: Opened | undefined;
  let release = () => {};

  async function tryToKeep(place: string): Promise<void> {
    if (mine !== undefined || lockHolder(place) !== undefined) return;
    const lock = takeLock(place);
    if (lock === undefined) return;
    try {
      const port = readPort(address);
      rmSync(address, { force: true });
      mine = await open({ folder: place, port: port ?? 0 });
      writeFileSync(address, String(mine.port), { mode: 0o600 });
      release = () => lock.release();
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  const deadline = Date.now() + openWithinMs;
  await tryToKeep(folder);
  while (mine === undefined && readPort(address) === undefined) {
    if (Date.now() > deadline) throw new Error('another process holds the demo shop but does not open it');
    await sleep(50);
    await tryToKeep(folder);
  }
  const stopping = new AbortController();
  const standingBy = (async () => {
    while (!stopping.signal.aborted) {
      await tryToKeep(folder).catch((err: unknown) => logger.warn({ err }, 'the demo shop could not be taken over'));
      await sleep(lookEveryMs, undefined, { signal: stopping.signal, ref: false }).catch(() => {});
    }
  })();

  return {
    get port() {
      return mine?.port ?? readPort(address) ?? 0;
    },
    get mine() {
      return mine;
    },
    async stop() {
      stopping.abort();
      await standingBy;
      await mine?.stop();
      release();
    },
  };
}

/** Without a writable folder the shop still runs, but forgets its orders. */
function makeFolder(folder: string | undefined, logger: Logger): string | undefined {
  if (folder === undefined) return undefined;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return folder;
  } catch (err) {
    logger.warn({ err }, 'the demo shop cannot write to DATA_DIR, so it will forget its orders on exit');
    return undefined;
  }
}

function takeLock(folder: string): { release(): void } | undefined {
  try {
    return lockDataDir(folder);
  } catch (error) {
    // Another process was faster.
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

function readPort(file: string): number | undefined {
  try {
    return Number(readFileSync(file, 'utf8')) || undefined;
  } catch {
    return undefined;
  }
}
