import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase } from '../src/kernel/db/database.ts';
import { createLogger } from '../src/kernel/log/logger.ts';
import { load, type Server, startServer } from './http.ts';
import { loadTransfers } from './load-transfers.ts';
import { type Measured, middle } from './measure.ts';
import { createPeople, type Person } from './people.ts';

export interface StatementFigures {
  readonly lines: number;
  /** Seconds that one takes without other requests, and its size. */
  readonly alone: { readonly seconds: number; readonly megabytes: number };
  /** Other requests, without statements and beside five of them. */
  readonly without: Measured;
  readonly beside: Measured;
  /** Memory of the server under the same load: the most it had without, and with five statements. */
  readonly memoryMb: { readonly without: number; readonly beside: number };
  /** How many lines a second the five got together meanwhile. */
  readonly linesPerSecond: number;
}

const statementsAtOnce = 5;
const linesEach = 400_000;
/** Others who pay meanwhile: enough of them to be busy, not so many that they only wait for each other. */
const connections = 16;

export async function measureStatement(
  createDatabase: (name: string) => Promise<string>,
  {
    seconds,
    repeats,
    say,
  }: { readonly seconds: number; readonly repeats: number; readonly say: (line: string) => void },
): Promise<StatementFigures> {
  const url = await createDatabase('statement');
  const db = openDatabase({ url, poolSize: 3, logger: createLogger('silent') });
  const everybody = await createPeople(db, 1_000);
  await db.close();
  const readers = everybody.slice(-statementsAtOnce);
  const payers = everybody.slice(0, -statementsAtOnce);
  say(`Loading ${statementsAtOnce} accounts with ${linesEach.toLocaleString('en')} lines each …`);
  await loadTransfers(
    url,
    readers.map(({ id }) => id),
    // Each participant has two lines per round: one that it sends and one that it gets.
    (linesEach / 2) * statementsAtOnce,
  );
  const server = await startServer(url);
  try {
    const pay = () => load(server, { connections, seconds, path: '/api/agent/transfer', people: payers });
    await load(server, { connections, seconds: 0, path: '/api/agent/transfer', people: payers, everybodyOnce: true });
    say('One statement alone …');
    const alone = await readAlone(server, readers[0] as Person);
    const runs: { without: Measured; beside: Measured; memory: { without: number; beside: number }; bytes: number }[] =
      [];
    for (let round = 1; round <= repeats; round++) {
      say(`Beside ${statementsAtOnce} statements, round ${round} of ${repeats} …`);
      const quiet = await whileWatching(server, pay);
      const ending = new AbortController();
      const reading = readers.map((reader) => keepReading(server, reader, ending.signal));
      const busy = await whileWatching(server, pay);
      ending.abort();
      const bytes = (await Promise.all(reading)).reduce((sum, one) => sum + one, 0);
      runs.push({
        without: quiet.result,
        beside: busy.result,
        memory: { without: quiet.mostMb, beside: busy.mostMb },
        bytes,
      });
    }
    const bytesPerLine = (alone.megabytes * 1024 * 1024) / linesEach;
    return {
      lines: linesEach,
      alone,
      without: middleOf(runs.map(({ without }) => without)),
      beside: middleOf(runs.map(({ beside }) => beside)),
      memoryMb: {
        without: Math.max(...runs.map(({ memory }) => memory.without)),
        beside: Math.max(...runs.map(({ memory }) => memory.beside)),
      },
      // A run of the load has a second of warming up before it.
      linesPerSecond: Math.round(middle(runs.map(({ bytes }) => bytes)) / bytesPerLine / (seconds + 1)),
    };
  } finally {
    await server.stop();
  }
}

/** Of several runs the middle of each figure. */
function middleOf(runs: readonly Measured[]): Measured {
  return {
    transfersPerSecond: middle(runs.map(({ transfersPerSecond }) => transfersPerSecond)),
    p50Ms: middle(runs.map(({ p50Ms }) => p50Ms)),
    p99Ms: middle(runs.map(({ p99Ms }) => p99Ms)),
  };
}

async function readAlone(server: Server, reader: Person): Promise<StatementFigures['alone']> {
  const since = performance.now();
  const { bytes, isWhole } = await readOne(server, reader, new AbortController().signal);
  if (!isWhole) throw new Error('a statement broke off');
  return { seconds: (performance.now() - since) / 1000, megabytes: bytes / 1024 / 1024 };
}

/** One statement after the other, until it is told to end. Answers how many bytes came. */
async function keepReading(server: Server, reader: Person, signal: AbortSignal): Promise<number> {
  let total = 0;
  while (!signal.aborted) {
    const { bytes, isWhole } = await readOne(server, reader, signal);
    if (!isWhole && !signal.aborted) throw new Error('a statement broke off');
    total += bytes;
  }
  return total;
}

function readOne(
  server: Server,
  { key }: Person,
  signal: AbortSignal,
): Promise<{ readonly bytes: number; readonly isWhole: boolean }> {
  const month = new Date().toISOString().slice(0, 7);
  return new Promise((resolve, reject) => {
    let bytes = 0;
    const asked = get(
      {
        host: '127.0.0.1',
        port: server.port,
        path: `/api/account/statement?month=${month}`,
        headers: { authorization: `Bearer ${key}` },
        signal,
        agent: false,
      },
      (reply) => {
        if (reply.statusCode !== 200) reject(new Error(`a statement was answered with ${reply.statusCode}`));
        reply.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
        });
        reply.on('error', () => {});
        reply.on('close', () => resolve({ bytes, isWhole: reply.complete }));
      },
    );
    asked.on('error', (error) => (signal.aborted ? resolve({ bytes, isWhole: false }) : reject(error)));
  });
}

/** The most memory that the server had meanwhile. */
async function whileWatching<Result>(
  server: Server,
  work: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly mostMb: number }> {
  const watching = new AbortController();
  let mostMb = 0;
  const watch = async () => {
    while (!watching.signal.aborted) {
      const status = readFileSync(`/proc/${server.pid}/status`, 'utf8');
      mostMb = Math.max(mostMb, Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024));
      await sleep(100);
    }
  };
  const watched = watch();
  const result = await work();
  watching.abort();
  await watched;
  return { result, mostMb };
}
