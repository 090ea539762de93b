import { openDatabase } from '../src/db/database.ts';
import { verifyLedger } from '../src/ledger/verify.ts';
import { createLogger } from '../src/logger.ts';
import { type BenchServer, startBenchServer } from './bench-database.ts';
import { loadTransfers } from './load-transfers.ts';
import { describeMeasured, type Measured, median } from './measure.ts';
import { measureOneAtATime, prepareOneAtATime } from './one-at-a-time.ts';
import { createPeople } from './people.ts';
import { measurePostingFunction } from './posting-function.ts';

/** One transaction per transfer against batches, in one run on one PostgreSQL. LOAD=5000000 measures growth too. */
const people = 10_000;
const seconds = Number(process.env['SECONDS'] ?? 2);
const repeats = Number(process.env['REPEATS'] ?? 3);
const load = Number(process.env['LOAD'] ?? 0);
const connectionCounts = [1, 8, 32];
const batchSizes = [1, 50, 200, 1_000];

const server = await startBenchServer();
try {
  const plainUrl = await server.createDatabase('one_at_a_time', 'empty');
  await prepareOneAtATime(plainUrl, people);
  const url = await server.createDatabase('ledger', 'migrated');
  const db = openDatabase({ url, poolSize: 3, logger: createLogger('silent') });
  const owners = await createPeople(db, people);

  const ways = new Map<string, () => Promise<Measured>>();
  for (const connections of connectionCounts) {
    ways.set(`one at a time, ${connections} connections`, () =>
      measureOneAtATime({ url: plainUrl, people, connections, seconds }),
    );
  }
  for (const batchSize of batchSizes) {
    ways.set(`posting function, ${batchSize} at once`, () =>
      measurePostingFunction({ url, owners, batchSize, seconds }),
    );
  }
  const runs = new Map<string, Measured[]>();
  // Interleaved, so that whatever else the machine does meets all of them alike.
  for (let round = 0; round < repeats; round++) {
    for (const [name, run] of ways) runs.set(name, [...(runs.get(name) ?? []), await run()]);
  }
  for (const [name, measured] of runs) say(`${name.padEnd(32)} ${describeMeasured(median(measured))}`);
  if (load > 0) await measureGrowth(server, url, owners);

  const { problems, postings } = await verifyLedger(db);
  say(`${postings.toLocaleString('en')} postings verified${problems.length === 0 ? '' : `: ${problems.join(' ')}`}`);
  await db.close();
} catch (error) {
  say(String(error));
  process.exitCode = 1;
} finally {
  await server.stop();
}

/** The same batches on the tables as they are and on others that hold millions, in turns. */
async function measureGrowth(benchServer: BenchServer, emptyUrl: string, owners: readonly bigint[]): Promise<void> {
  const fullUrl = await benchServer.createDatabase('full_tables', 'migrated');
  const full = openDatabase({ url: fullUrl, poolSize: 3, logger: createLogger('silent') });
  const fullOwners = await createPeople(full, people);
  const begun = performance.now();
  const loaded = await loadTransfers(fullUrl, fullOwners, load);
  say(`loaded ${loaded.toLocaleString('en')} transfers in ${Math.round((performance.now() - begun) / 1_000)} s`);
  const onEmpty: Measured[] = [];
  const onFull: Measured[] = [];
  for (let round = 0; round < repeats; round++) {
    onEmpty.push(await measurePostingFunction({ url: emptyUrl, owners, batchSize: 200, seconds }));
    onFull.push(await measurePostingFunction({ url: fullUrl, owners: fullOwners, batchSize: 200, seconds }));
  }
  say(`200 at once, nearly empty tables ${describeMeasured(median(onEmpty))}`);
  say(`200 at once, full tables         ${describeMeasured(median(onFull))}`);
  say(`full / empty ${(median(onFull).transfersPerSecond / median(onEmpty).transfersPerSecond).toFixed(2)}`);
  const { problems } = await verifyLedger(full);
  say(`the loaded ledger ${problems.length === 0 ? 'adds up' : problems.join(' ')}`);
  await full.close();
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
