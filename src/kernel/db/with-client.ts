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
