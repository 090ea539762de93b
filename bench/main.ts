import { parseArgs } from 'node:util';
import { openDatabase } from '../src/kernel/db/database.ts';
import { createLogger } from '../src/kernel/log/logger.ts';
import { verifyLedger } from '../src/ledger/verify.ts';
import { startBenchServer } from './bench-database.ts';
import { measureBridge } from './bridge.ts';
import { measureCustody } from './custody.ts';
import { load, type Server, startEmptyHandler, startServer, watchMemory } from './http.ts';
import { measureLiquidity } from './liquidity.ts';
import { loadTransfers } from './load-transfers.ts';
import { type Measured, median } from './measure.ts';
import { measureNano } from './nano.ts';
import { measureOneAtATime, prepareOneAtATime } from './one-at-a-time.ts';
import { createPeople, type Person } from './people.ts';
import { measurePostingFunction } from './posting-function.ts';
import {
  printBridge,
  printCustody,
  printLiquidity,
  printNano,
  printReserves,
  printSearch,
  printStatement,
  printTable,
  printWebhooks,
  toRatios,
} from './report.ts';
import { measureReserves } from './reserves.ts';
import { measureSearch } from './search.ts';
import { measureStatement } from './statement.ts';
import { measureWebhooks } from './webhooks.ts';

/** One run, one PostgreSQL with its default durability, everything in turns: what is compared met the same machine. */
const { values: options } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '4' },
    repeats: { type: 'string', default: '3' },
    /** Transfers in the tables for the second measurement; 0 leaves growth out. */
    transfers: { type: 'string', default: '5000000' },
    /** How long memory is watched under load; 0 leaves it out. */
    'memory-seconds': { type: 'string', default: '120' },
    /** Registrations, withdrawals, deposits and reserves: `only` these, or `none` of them. */
    custody: { type: 'string', default: 'too' },
    /** The treasury's tokens, set aside beside many finished withdrawals: likewise. */
    liquidity: { type: 'string', default: 'too' },
    /** Transfers between chains: likewise. */
    bridge: { type: 'string', default: 'too' },
    /** Webhook deliveries: likewise. */
    webhooks: { type: 'string', default: 'too' },
    /** Searches of shops: likewise. */
    search: { type: 'string', default: 'too' },
    /** Calls that are paid for one by one: likewise. */
    nano: { type: 'string', default: 'too' },
    /** Other requests beside long statements: likewise. */
    statement: { type: 'string', default: 'too' },
  },
});
const seconds = Number(options.seconds);
const repeats = Number(options.repeats);
const transfers = Number(options.transfers);
const memorySeconds = Number(options['memory-seconds']);
const peopleCount = 10_000;
const parts = ['webhooks', 'custody', 'liquidity', 'bridge', 'search', 'nano', 'statement'] as const;
const only = parts.find((part) => options[part] === 'only');
const isWanted = (part: (typeof parts)[number]) => (only === undefined ? options[part] !== 'none' : only === part);

const say = (line: string) => void process.stderr.write(`${line}\n`);
const quiet = createLogger('silent');
const pay = (server: Server, people: readonly Person[], connections: number) =>
  load(server, { connections, seconds, path: '/api/agent/transfer', people });

const postgres = await startBenchServer();
const servers: Server[] = [];
try {
  if (isWanted('webhooks')) {
    const figures = await measureWebhooks((name) => postgres.createDatabase(name, 'migrated'), { seconds, say });
    if (options.json) process.stdout.write(`${JSON.stringify({ webhooks: figures })}\n`);
    else printWebhooks(figures);
  }
  if (isWanted('custody')) {
    const figures = await measureCustody((name) => postgres.createDatabase(name, 'migrated'), say);
    if (options.json) process.stdout.write(`${JSON.stringify({ custody: figures })}\n`);
    else printCustody(figures);
    const reserves = await measureReserves((name) => postgres.createDatabase(name, 'migrated'), say);
    if (options.json) process.stdout.write(`${JSON.stringify({ reserves })}\n`);
    else printReserves(reserves);
  }
  if (isWanted('liquidity')) {
    const liquidity = await measureLiquidity((name) => postgres.createDatabase(name, 'migrated'), say);
    if (options.json) process.stdout.write(`${JSON.stringify({ liquidity })}\n`);
    else printLiquidity(liquidity);
  }
  if (isWanted('bridge')) {
    const bridge = await measureBridge((name) => postgres.createDatabase(name, 'migrated'), say);
    if (options.json) process.stdout.write(`${JSON.stringify({ bridge })}\n`);
    else printBridge(bridge);
  }
  if (isWanted('search')) {
    const search = await measureSearch((name) => postgres.createDatabase(name, 'migrated'), { seconds, say });
    if (options.json) process.stdout.write(`${JSON.stringify({ search })}\n`);
    else printSearch(search);
  }
  if (isWanted('nano')) {
    const nano = await measureNano((name) => postgres.createDatabase(name, 'migrated'), { seconds, repeats, say });
    if (options.json) process.stdout.write(`${JSON.stringify({ nano })}\n`);
    else printNano(nano);
  }
  if (isWanted('statement')) {
    const statement = await measureStatement((name) => postgres.createDatabase(name, 'migrated'), {
      seconds,
      repeats,
      say,
    });
    if (options.json) process.stdout.write(`${JSON.stringify({ statement })}\n`);
    else printStatement(statement);
  }
  if (only === undefined) await measureTransfers();
} finally {
  for (const server of servers) await server.stop();
  await postgres.stop();
}

async function measureTransfers(): Promise<void> {
  say('Preparing …');
  const plainUrl = await postgres.createDatabase('one_at_a_time', 'empty');
  await prepareOneAtATime(plainUrl, peopleCount);
  const functionUrl = await postgres.createDatabase('posting_function', 'migrated');
  const functionOwners = (await createPeopleIn(functionUrl)).map(({ id }) => id);
  const { server, people, url } = await startFilled('http', 0);
  const empty = await startEmptyHandler();
  servers.push(empty);

  const ways: Record<string, () => Promise<Measured>> = {};
  for (const connections of [1, 8, 32]) {
    ways[`a: one at a time, ${connections} connections`] = () =>
      measureOneAtATime({ url: plainUrl, people: peopleCount, connections, seconds });
  }
  for (const batchSize of [1, 50, 200, 1_000]) {
    ways[`b: posting function, ${batchSize} at once`] = () =>
      measurePostingFunction({ url: functionUrl, owners: functionOwners, batchSize, seconds });
  }
  for (const connections of [1, 64, 256]) {
    ways[`c: HTTP, ${connections} connections`] = () => pay(server, people, connections);
  }
  ways['d: empty handler, 256 connections'] = () =>
    load(empty, { connections: 256, seconds, path: '/empty', people: [] });
  const measured = await inTurns(ways);

  let growth: Record<string, Measured> = {};
  if (transfers > 0) {
    const full = await startFilled('full_tables', transfers);
    growth = await inTurns({
      'c: HTTP, 256 connections, few rows': () => pay(server, people, 256),
      [`c: HTTP, 256 connections, ${transfers.toLocaleString('en')} transfers more`]: () =>
        pay(full.server, full.people, 256),
    });
  }

  let memoryMb: number[] = [];
  if (memorySeconds > 0) {
    say(`Watching memory for ${memorySeconds} s …`);
    const underLoad = load(server, { connections: 256, seconds: memorySeconds, path: '/api/agent/transfer', people });
    memoryMb = await watchMemory(server, memorySeconds, underLoad);
  }

  await proveSound(url);
  const ratios = toRatios(measured, growth, memoryMb);
  if (options.json)
    process.stdout.write(`${JSON.stringify({ measured: { ...measured, ...growth }, ratios, memoryMb })}\n`);
  else printTable({ ...measured, ...growth }, ratios, memoryMb);
}

async function createPeopleIn(url: string): Promise<readonly Person[]> {
  const db = openDatabase({ url, poolSize: 3, logger: quiet });
  const people = await createPeople(db, peopleCount);
  await db.close();
  return people;
}

/** A server on a database of its own that holds this many transfers, and knows everybody already. */
async function startFilled(
  name: string,
  count: number,
): Promise<{ server: Server; people: readonly Person[]; url: string }> {
  const url = await postgres.createDatabase(name, 'migrated');
  const people = await createPeopleIn(url);
  if (count > 0) {
    say(`Loading ${count.toLocaleString('en')} transfers …`);
    await loadTransfers(
      url,
      people.map(({ id }) => id),
      count,
    );
  }
  const server = await startServer(url);
  servers.push(server);
  await load(server, { connections: 64, seconds: 0, path: '/api/agent/transfer', people, everybodyOnce: true });
  return { server, people, url };
}

/** Interleaved, so that whatever else the machine does meets all of them alike; of each the middle run counts. */
async function inTurns(ways: Readonly<Record<string, () => Promise<Measured>>>): Promise<Record<string, Measured>> {
  const runs: Record<string, Measured[]> = {};
  for (let round = 1; round <= repeats; round++) {
    say(`Round ${round} of ${repeats} …`);
    for (const [name, measure] of Object.entries(ways)) runs[name] = [...(runs[name] ?? []), await measure()];
  }
  return Object.fromEntries(Object.entries(runs).map(([name, all]) => [name, median(all)]));
}

async function proveSound(url: string): Promise<void> {
  const db = openDatabase({ url, poolSize: 1, logger: quiet });
  const { problems, postings } = await verifyLedger(db);
  await db.close();
  if (problems.length > 0) throw new Error(`the measured ledger is not sound: ${problems.join(' ')}`);
  say(`${postings.toLocaleString('en')} measured postings verified.`);
}
