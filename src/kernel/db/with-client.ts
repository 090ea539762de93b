import pg from 'pg';
import { type ConnectionOptions, connectionSettings } from './connection-settings.ts';

/** A connection of its own for one piece of work, which ends with it. */
export async function withClient<Result>(
  options: ConnectionOptions,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client(connectionSettings(options));
  // A connection that is lost fails the statement under way; without a listener it would end the process.
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
