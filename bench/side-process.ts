import { openDatabase } from '../src/kernel/db/database.ts';
import { createLogger } from '../src/kernel/log/logger.ts';
import { startBenchServer } from './bench-database.ts';
import { startServer } from './http.ts';
import { createPeople } from './people.ts';

/** One of two sides that are compared: this version of the service, with a PostgreSQL and people of its own. */
export interface SideReport {
  readonly port: number;
  readonly pid: number;
  readonly postgresPid: number | undefined;
  readonly people: readonly { readonly handle: string; readonly key: string }[];
}

const postgres = await startBenchServer();
const url = await postgres.createDatabase('side', 'migrated');
const db = openDatabase({ url, poolSize: 3, logger: createLogger('silent') });
const people = await createPeople(db, 10_000);
await db.close();
const server = await startServer(url);
const report: SideReport = {
  port: server.port,
  pid: server.pid,
  postgresPid: server.postgresPid,
  people: people.map(({ handle, key }) => ({ handle, key })),
};
process.send?.(report);
process.on('disconnect', () => void stop());

async function stop(): Promise<void> {
  await server.stop();
  await postgres.stop();
  process.exit();
}
