import type pg from 'pg';
import { Refusal } from '../refusal.ts';
import { sendSettingsLater, withClient, withoutSettings } from './connection-settings.ts';

/**
 * Before 15 every role may create tables in the schema `public`, so a service role that owns nothing could shadow the
 * service's tables. docs/scaling.md names what else is missing in older ones.
 */
const oldestVersion = 15;

export interface ServerOptions {
  readonly url: string;
  /** The setting that the URL comes from. */
  readonly name: string;
}

/**
 * Refuses a server or a connection pooler on which the service could lose locks or notifications. Returns the URL for all
 * other connections.
 */
export async function examineServer({ url, name }: ServerOptions): Promise<string> {
  const isPooled = await withProbe(url, async (client) => {
    refuseOldServer(await readVersion(client));
    // A pooler makes up the number of the session that it tells its client.
    return (client as unknown as { readonly processID: number }).processID !== (await backendOf(client));
  });
  if (!isPooled) return url;
  await refuseSharedSessions({ url, name });
  return sendSettingsLater(url);
}

/** `version` is as PostgreSQL says it, such as `15.18 (Debian 15.18-0+deb12u1)`. */
export function refuseOldServer(version: string): void {
  if (Number.parseInt(version, 10) >= oldestVersion) return;
  throw new Refusal(
    `PostgreSQL ${oldestVersion} or newer is needed, this one is ${version.split(' ')[0]}. Upgrade it first: docs/scaling.md says why.`,
  );
}

async function readVersion(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ version: string }>("SELECT current_setting('server_version') AS version");
  return rows[0]?.version ?? '';
}

/** Other clients of the pooler may come in between, so several rounds are needed. */
const rounds = 10;

/**
 * Two connections to PostgreSQL are two sessions. A pooler in transaction mode gives both the session that is free, or
 * takes turns among its sessions (`server_round_robin`): with two of them, only a client that asks twice in a row notices.
 */
async function refuseSharedSessions({ url, name }: ServerOptions): Promise<void> {
  await withProbe(url, (one) =>
    withProbe(url, async (other) => {
      const own = await backendOf(one);
      for (let round = 0; round < rounds; round += 1) {
        const isOwn = (await backendOf(one)) === own && (await backendOf(one)) === own;
        if (isOwn && (await backendOf(other)) !== own) continue;
        throw new Refusal(
          `${name} leads through a connection pooler in transaction mode, which loses the service's locks and notifications. Name PostgreSQL itself, or let the pooler use session mode (pool_mode = session): the service has its own pool of connections.`,
        );
      }
    }),
  );
}

async function backendOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return rows[0]?.pid ?? 0;
}

/** Changes no setting of a session that may be shared. */
function withProbe<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  return withClient({ url: withoutSettings(url), applicationName: 'paywright-probe' }, work);
}
