import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import {
  createTransport,
  HttpRequestError,
  type HttpTransport,
  type PublicClient,
  RpcRequestError,
  TimeoutError,
  toHex,
} from 'viem';
import type { NetworkSettings } from '../../src/chains/network.ts';
import { redactingHttp } from '../../src/chains/redacting-transport.ts';
import type { Database } from '../../src/kernel/db/database.ts';
import type { Logger } from '../../src/kernel/log/logger.ts';
import { Refusal } from '../../src/kernel/refusal.ts';
import { type ChainId, chainIds, homeChain } from '../../src/money/catalogue.ts';
import { attestationUrlOf, type ChainUrls, createChainTables, findPublished } from './chain-tables.ts';
import { createFaucet } from './faucet.ts';
import { type BlockFollower, followBlocks } from './follow-blocks.ts';
import { keepChains } from './keep-chains.ts';
import { eurcOnPolygon } from './tokens.ts';

interface RpcReply {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

const headers = { 'content-type': 'application/json' };

/**
 * JSON-RPC to a local chain. viem's transport builds a Request, a Response and a stream per call, which costs more CPU than the
 * call itself. Real nodes still use viem's: they redirect, compress, and have secret URLs.
 */
function localHttp(url: string, timeoutMs: number): HttpTransport {
  let lastId = 0;

  async function ask({ method, params }: { readonly method: string; readonly params?: unknown }): Promise<unknown> {
    const body = { method, params };
    const text = JSON.stringify({ jsonrpc: '2.0', id: ++lastId, ...body }, bigintAsText);
    const { error, result } = await post(text).catch((cause: Error) => {
      if (cause instanceof HttpRequestError) throw cause;
      throw cause.name === 'TimeoutError'
        ? new TimeoutError({ body, url })
        : new HttpRequestError({ body, cause, url });
    });
    if (error) throw new RpcRequestError({ body, error, url });
    return result;
  }

  async function post(body: string): Promise<RpcReply> {
    const answer = await request(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(timeoutMs) });
    const text = await answer.body.text();
    if (answer.statusCode === 200) return JSON.parse(text) as RpcReply;
    throw new HttpRequestError({ details: text.slice(0, 500), status: answer.statusCode, url });
  }

  // The list of URLs decides about retries.
  return (() =>
    createTransport(
      { key: 'http', name: 'HTTP JSON-RPC', type: 'http', request: ask as never, retryCount: 0, timeout: timeoutMs },
      { url },
    )) as unknown as HttpTransport;
}

function bigintAsText(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}

export type LocalChains = ReturnType<typeof toLocalChains>;

const servedWithinMs = 30_000;

/** Runs the chains of this database, or stands by for the process that does. */
export async function startLocalChains({ db, logger }: { db: Database; logger: Logger }): Promise<LocalChains> {
  await createChainTables(db);
  const keeper = await keepChains(db, logger);
  return toLocalChains(db, keeper.urls, () => keeper.stop());
}

/** For a command that runs beside the server. */
export async function connectLocalChains({ db }: { db: Database }): Promise<LocalChains> {
  await createChainTables(db);
  const deadline = Date.now() + servedWithinMs;
  for (;;) {
    const { kept, urls } = await findPublished(db);
    if (urls !== undefined) return toLocalChains(db, urls, async () => {});
    if (!kept || Date.now() > deadline) {
      throw new Refusal('The sandbox is not running: start it with npm start.');
    }
    await sleep(100);
  }
}

/** The sandbox's chains, in this or another process. */
function toLocalChains(db: Database, urls: ChainUrls, stop: () => Promise<void>) {
  const settings = new Map<ChainId, NetworkSettings>();
  const followers: BlockFollower[] = [];
  for (const id of chainIds) {
    const url = urls.get(id);
    if (url === undefined) continue;
    const follower = followBlocks(url);
    followers.push(follower);
    settings.set(id, {
      urls: [url],
      confirmations: 1,
      pollMs: 250,
      letTimePass,
      // Any other URL belongs to a real node.
      transport: (asked, timeoutMs) => (asked === url ? localHttp : redactingHttp)(asked, timeoutMs),
      onBlock: follower.onBlock,
      ...(id === homeChain && { tokens: [{ asset: 'EURC', address: eurcOnPolygon }] }),
    });
  }
  return {
    settings,
    faucet: createFaucet(db, settings),
    /** Stands in for Circle's attestation service. */
    attestationUrl: attestationUrlOf(urls),
    async stop(): Promise<void> {
      for (const follower of followers) follower.stop();
      await stop();
    },
  };
}

async function letTimePass(client: PublicClient, until: bigint): Promise<void> {
  await client.request({ method: 'sandbox_letTimePass', params: [toHex(until)] } as never);
}
