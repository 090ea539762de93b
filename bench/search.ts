import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { get, request } from 'node:http';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openDatabase } from '../src/kernel/db/database.ts';
import { createLogger } from '../src/kernel/log/logger.ts';
import { load, type Resources, type Server, startServer } from './http.ts';
import { createPeople, type Person } from './people.ts';

export interface SearchFigures {
  /** Searches of a shop that answers at once, beside transfers. */
  readonly quick: { readonly p50Ms: number; readonly p99Ms: number; readonly transfersPerSecond: number };
  /** Searches of one that never answers, half of them left by their clients. */
  readonly slow: { readonly searches: number; readonly seconds: number; readonly longestMs: number };
  /** What is there before and after the slow ones, once everything has had time to end. */
  readonly before: Resources;
  readonly after: Resources;
  /** Searches of one whose pages are made to hold up their reader. */
  readonly hostile: { readonly searches: number; readonly longestBlockMs: number };
  /** Connections that the slow shop still sees. */
  readonly openAtShop: number;
}

const slowSearches = 400;
/** As many as one address may have under way. */
const atOnce = 60;
const hostileSearches = 100;

export async function measureSearch(
  createDatabase: (name: string) => Promise<string>,
  { seconds, say }: { readonly seconds: number; readonly say: (line: string) => void },
): Promise<SearchFigures> {
  const url = await createDatabase('search');
  const db = openDatabase({ url, poolSize: 3, logger: createLogger('silent') });
  const people = await createPeople(db, 1_000);
  const shops = await startShops();
  const places = [shops.quick, shops.slow, shops.hostile].map((port) => `127.0.0.1:${port}`);
  const server = await startServer(url, { ALLOW_PRIVATE_HOSTS: places.join(',') });
  try {
    await load(server, { connections: 16, seconds: 0, path: '/api/agent/transfer', people, everybodyOnce: true });
    say('Searching beside transfers …');
    const quick = await measureQuick(server, people, { website: places[0] ?? '', seconds });

    say('Searching a shop with hostile pages …');
    const hostile = await searchHostile(server, people, places[2] ?? '');

    say('Searching a shop that never answers …');
    // The first ones fill what is kept for good: compiled code, connections to the database.
    await searchSlowly(server, people, { website: places[1] ?? '', searches: atOnce });
    await untilQuiet(shops);
    const before = await server.resources();
    const slow = await searchSlowly(server, people, { website: places[1] ?? '', searches: slowSearches });
    await untilQuiet(shops);
    return { quick, hostile, slow, before, after: await server.resources(), openAtShop: await shops.open() };
  } finally {
    await server.stop();
    shops.stop();
    await db.close();
  }
}

async function measureQuick(
  server: Server,
  people: readonly Person[],
  { website, seconds }: { readonly website: string; readonly seconds: number },
): Promise<SearchFigures['quick']> {
  const times: number[] = [];
  let paying = true;
  const paid = load(server, { connections: 16, seconds: seconds * 2, path: '/api/agent/transfer', people }).finally(
    () => {
      paying = false;
    },
  );
  for (let count = 0; paying; count++) {
    const begun = performance.now();
    const { products } = (await search(server, people[count % people.length], { website, query: `mug ${count}` })) as {
      products?: readonly unknown[];
    };
    if (products?.length !== 3) throw new Error('a search of the quick shop found nothing');
    times.push(performance.now() - begun);
  }
  times.sort((a, b) => a - b);
  const { transfersPerSecond } = await paid;
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
  return { p50Ms: at(0.5), p99Ms: at(0.99), transfersPerSecond };
}

async function searchHostile(
  server: Server,
  people: readonly Person[],
  website: string,
): Promise<SearchFigures['hostile']> {
  await server.resources();
  await sleep(200);
  let next = 0;
  const searcher = async () => {
    for (let count = next++; count < hostileSearches; count = next++) {
      await search(server, people[count % people.length], { website, query: `mug ${count}` });
    }
  };
  await Promise.all(Array.from({ length: 8 }, searcher));
  return { searches: hostileSearches, longestBlockMs: (await server.resources()).longestBlockMs };
}

/** Every other one is a stream whose client leaves after a second. */
async function searchSlowly(
  server: Server,
  people: readonly Person[],
  { website, searches }: { readonly website: string; readonly searches: number },
): Promise<SearchFigures['slow']> {
  const begun = performance.now();
  let longestMs = 0;
  let next = 0;
  const searcher = async () => {
    for (let count = next++; count < searches; count = next++) {
      const person = people[count % people.length];
      const from = performance.now();
      if (count % 2 === 0) await listenAndLeave(server, person, { website, query: `left ${count}` });
      else {
        const { code } = (await search(server, person, { website, query: `slow ${count}` })) as { code?: string };
        if (code !== 'merchant_unreachable') throw new Error(`a search of the slow shop was answered with ${code}`);
        longestMs = Math.max(longestMs, performance.now() - from);
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, searcher));
  return { searches, seconds: (performance.now() - begun) / 1_000, longestMs };
}

interface Question {
  readonly website: string;
  readonly query: string;
}

async function search(server: Server, person: Person | undefined, question: Question): Promise<object> {
  // On a connection of its own, which is gone afterwards: only what the searches leave behind is to be counted.
  const asking = request({
    host: '127.0.0.1',
    port: server.port,
    path: '/api/shopping/search',
    method: 'POST',
    headers: { authorization: `Bearer ${person?.key}`, 'content-type': 'application/json' },
    agent: false,
  });
  asking.end(JSON.stringify(question));
  const [reply] = await once(asking, 'response');
  return (await json(reply)) as object;
}

async function listenAndLeave(server: Server, person: Person | undefined, { website, query }: Question): Promise<void> {
  const path = `/api/shopping/search/stream?${new URLSearchParams({ website, q: query })}`;
  const request = get({
    host: '127.0.0.1',
    port: server.port,
    path,
    headers: { authorization: `Bearer ${person?.key}` },
    agent: false,
  });
  request.on('error', () => {});
  request.on('response', (response) => response.on('error', () => {}).resume());
  await sleep(1_000);
  request.destroy();
}

/** Unused connections are kept for a few seconds. */
async function untilQuiet(shops: Shops): Promise<void> {
  for (let tries = 0; tries < 100 && (await shops.open()) > 0; tries++) await sleep(200);
  await sleep(6_000);
}

interface Shops {
  readonly quick: number;
  readonly slow: number;
  readonly hostile: number;
  open(): Promise<number>;
  stop(): void;
}

async function startShops(): Promise<Shops> {
  const child: ChildProcess = fork(fileURLToPath(new URL('./merchant-process.js', import.meta.url)));
  const [{ quick, slow, hostile }] = (await once(child, 'message')) as [Pick<Shops, 'quick' | 'slow' | 'hostile'>];
  return {
    quick,
    slow,
    hostile,
    async open() {
      child.send({});
      const [{ open }] = (await once(child, 'message')) as [{ open: number }];
      return open;
    },
    stop: () => child.disconnect(),
  };
}
