import { setTimeout as sleep } from 'node:timers/promises';
import { type ChainId, chainIds } from '../src/money/catalogue.ts';
import { call, register } from './api.ts';
import { startServer } from './http.ts';

export interface BridgeFigures {
  /** How many transfers were asked for at once, between chains that were chosen at random. */
  readonly count: number;
  /** Until all of them were complete. */
  readonly seconds: number;
  /** By how much reserves differ when nothing is in flight any more: each chain and token where they do. */
  readonly differences: readonly string[];
}

const count = 50;

export async function measureBridge(
  createDatabase: (name: string) => Promise<string>,
  say: (line: string) => void,
): Promise<BridgeFigures> {
  say('Filling wallets on six chains …');
  const server = await startServer(await createDatabase('bridge'));
  const api = `http://127.0.0.1:${server.port}/api`;
  try {
    const { apiKey } = await register(api);
    await fillWallets(api, apiKey);
    await untilStill(api);
    say(`Moving ${count} times between them …`);
    const begun = performance.now();
    await Promise.all(
      choosePairs(count).map(([from, to]) => call(`${api}/cross-chain/transfer`, { from, to, amount: '1' }, apiKey)),
    );
    await untilComplete(api, apiKey);
    const seconds = (performance.now() - begun) / 1_000;
    const rows = await untilStill(api);
    const differing = rows.filter(({ difference }) => difference !== '0');
    const differences = differing.map(({ chain, asset, difference }) => `${difference} ${asset} on ${chain}`);
    return { count, seconds, differences };
  } finally {
    await server.stop();
  }
}

/** Enough on each chain that all transfers might leave from there. */
async function fillWallets(api: string, key: string): Promise<void> {
  for (const blockchain of chainIds) {
    const { address } = await call(`${api}/cross-chain/wallet`, { blockchain }, key);
    await call(`${api}/sandbox/faucet`, { address, chain: blockchain, currency: 'USDC', amount: count });
  }
  for (;;) {
    const { wallets } = await call(`${api}/cross-chain/wallets`, undefined, key);
    if (wallets.every(({ balance }: { balance: string }) => balance === String(count))) return;
    await sleep(250);
  }
}

/** The same ones in every run. */
function choosePairs(howMany: number): [from: ChainId, to: ChainId][] {
  let seed = 10;
  const below = (end: number) => {
    // The numbers of Park and Miller: small enough to be exact.
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % end;
  };
  return Array.from({ length: howMany }, () => {
    const from = chainIds[below(chainIds.length)] as ChainId;
    const others = chainIds.filter((id) => id !== from);
    return [from, others[below(others.length)] as ChainId];
  });
}

async function untilComplete(api: string, key: string): Promise<void> {
  const list = async (status: string) =>
    (await call(`${api}/cross-chain/history?limit=100&status=${status}`, undefined, key)).transfers;
  for (;;) {
    if ((await list('failed')).length > 0) throw new Error('a transfer between chains failed');
    if ((await list('completed')).length === count) return;
    await sleep(250);
  }
}

interface ReserveRow {
  readonly chain: string;
  readonly asset: string;
  readonly inFlight: string | null;
  readonly difference: string | null;
}

/** Until nothing is in flight. */
async function untilStill(api: string): Promise<readonly ReserveRow[]> {
  for (;;) {
    const { reserves } = await call(`${api}/reserves`);
    if ((reserves as ReserveRow[]).every(({ inFlight }) => inFlight === '0')) return reserves;
    await sleep(500);
  }
}
