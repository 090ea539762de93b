import type pg from 'pg';
import { within } from '../clock.ts';

const longestEndMs = 2_000;

/** Waits for what uses a connection, but not for a host that no longer answers. */
export async function endPool(pool: pg.Pool): Promise<void> {
  await within(longestEndMs, pool.end(), () => {});
}

/** A host that no longer answers does not say goodbye either. */
export async function endClient(client: pg.Client): Promise<void> {
  const ended = client.end().catch(() => {});
  await within(longestEndMs, ended, () => breakOff(client));
}

/** Whatever waits for an answer on it fails as with any lost connection. */
export function breakOff(client: pg.Client): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}
