import { openDatabase } from '../src/kernel/db/database.ts';
import { createLogger } from '../src/kernel/log/logger.ts';
import { verifyLedger } from '../src/ledger/verify.ts';
import type { BenchServer } from './bench-database.ts';
import { load, type Server, startEmptyHandler, startServer, watchMemory } from './http.ts';
import { inTurns, type Measured } from './measure.ts';
import { measureOneAtATime, plainTransfer, prepareOneAtATime } from './one-at-a-time.ts';
import { preparePgledger } from './peers.ts';
import { createPeople, type Person } from './people.ts';
import { measurePostingFunction } from './posting-function.ts';
import { toRatios } from './report.ts';

export interface TransferOptions {
  readonly seconds: number;
  readonly repeats: number;
  /** How long memory is watched under load; 0 leaves it out. */
  readonly memorySeconds: number;
  /** A checkout of pgledger, measured in the same run if it is given. */
  readonly pgledger: string | undefined;
  readonly say: (line: string) => void;
}

const peopleCount = 10_000;
const quiet = createLogger('silent');

export async function measureTransfers(postgres: BenchServer, options: TransferOptions) {
  const { seconds, repeats, memorySeconds, say } = options;
  const servers: Server[] = [];
  const pay = (server: Server, people: readonly Person[], connections: number) =>
    load(server, { connections, seconds, path: '/api/agent/transfer', people });
  try {
    say('Preparing …');
    const plainUrl = await postgres.createDatabase('one_at_a_time', 'empty');
    await prepareOneAtATime(plainUrl, peopleCount);
    const functionUrl = await postgres.createDatabase('posting_function', 'migrated');
    const functionOwners = (await createPeopleIn(functionUrl)).map(({ id }) => id);
    const url = await postgres.createDatabase('http', 'migrated');
    const people = await createPeopleIn(url);
    const server = await startServer(url);
    servers.push(server);
    await load(server, { connections: 64, seconds: 0, path: '/api/agent/transfer', people, everybodyOnce: true });
    const empty = await startEmptyHandler();
    servers.push(empty);

    const ways: Record<string, () => Promise<Measured>> = {};
    for (const connections of [1, 8, 32]) {
      ways[`a: one at a time, ${connections} connections`] = () =>
        measureOneAtATime({ url: plainUrl, connections, seconds, ...plainTransfer(peopleCount) });
    }
    for (const batchSize of [1, 50, 200, 1_000]) {
      ways[`b: posting function, ${batchSize} at once`] = () =>
        measurePostingFunction({ url: functionUrl, owners: functionOwners, batchSize, seconds });
    }
    for (const connections of [2, 4]) {
      ways[`b: posting function, 200 at once, ${connections} connections`] = () =>
        measurePostingFunction({ url: functionUrl, owners: functionOwners, batchSize: 200, seconds, connections });
    }
    for (const connections of [1, 64, 256]) {
      ways[`c: HTTP, ${connections} connections`] = () => pay(server, people, connections);
    }
    ways['d: empty handler, 256 connections'] = () =>
      load(empty, { connections: 256, seconds, path: '/empty', people: [] });
    if (options.pgledger !== undefined) {
      const peer = await preparePgledger(
        await postgres.createDatabase('pgledger', 'empty'),
        options.pgledger,
        peopleCount,
      );
      for (const connections of [1, 8, 32])
        ways[`e: pgledger, ${connections} connections`] = () => peer(connections, seconds);
    }
    const measured = await inTurns({ repeats, say }, ways);

    let memoryMb: number[] = [];
    if (memorySeconds > 0) {
      say(`Watching memory for ${memorySeconds} s …`);
      const underLoad = load(server, { connections: 256, seconds: memorySeconds, path: '/api/agent/transfer', people });
      memoryMb = await watchMemory(server, memorySeconds, underLoad);
    }

    await proveSound(url);
    return { measured, ratios: toRatios(measured, memoryMb), memoryMb };
  } finally {
    for (const server of servers) await server.stop();
  }

  async function proveSound(url: string): Promise<void> {
    const db = openDatabase({ url, poolSize: 1, logger: quiet });
    const { problems, postings } = await verifyLedger(db);
    await db.close();
    if (problems.length > 0) throw new Error(`the measured ledger is not sound: ${problems.join(' ')}`);
    say(`${postings.toLocaleString('en')} measured postings verified.`);
  }
}

async function createPeopleIn(url: string): Promise<readonly Person[]> {
  const db = openDatabase({ url, poolSize: 3, logger: quiet });
  const people = await createPeople(db, peopleCount);
  await db.close();
  return people;
}
