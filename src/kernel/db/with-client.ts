import pg from 'pg';
import { type ConnectionOptions, connectionSettings } from './connection-settings.ts';

/** Runs the work on a dedicated connection and closes it. */
export async function withClient<Result>(
  options: ConnectionOptions,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client(connectionSettings(options));
  // A lost connection already fails its statement; without a listener it would also end the process.
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

type Session = Pick<pg.ClientBase, 'query'>;

/** For a dedicated connection; a pool has its own (`database.ts`). */
export async function inTransaction(session: Session, work: () => Promise<unknown>): Promise<void> {
  await session.query('BEGIN');
  try {
    await work();
    await session.query('COMMIT');
  } catch (error) {
    await session.query('ROLLBACK');
    throw error;
  }
}

export async function tableExists(session: Session, table: string): Promise<boolean> {
  const { rows } = await session.query<{ exists: boolean }>('SELECT to_regclass($1) IS NOT NULL AS exists', [table]);
  return rows[0]?.exists === true;
}
