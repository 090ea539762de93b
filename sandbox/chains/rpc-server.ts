import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Logger } from '../../src/kernel/log/logger.ts';
import type { ChainId } from '../../src/money/catalogue.ts';
import { type AttestationService, isForAttestations, serveAttestations } from '../cctp/attestation-service.ts';
import { closeServer, listenLocally } from '../local-server.ts';
import type { RpcCall, RpcOutcome } from './evm-node.ts';
import { limitCall, runsCode } from './limit-call.ts';
import type { LocalChain } from './local-chain.ts';
import { explainForeignCaller, isJson, readBody } from './request-guard.ts';

const mostInBatch = 100;

/** The time limit of one request. Calls not started by then are dropped. */
const longestMs = 10_000;

export type RpcServer = Awaited<ReturnType<typeof startRpcServer>>;

export interface RpcServerOptions {
  readonly chains: ReadonlyMap<ChainId, LocalChain>;
  readonly attestations: AttestationService;
  /** 0 for any free port. */
  readonly port: number;
  readonly logger: Logger;
}

export function chainPath(id: ChainId): string {
  return `/${id.toLowerCase()}`;
}

/** JSON-RPC for every chain, and the attestation service. It serves local programs and rejects foreign web pages. */
export async function startRpcServer({ chains, attestations, port, logger }: RpcServerOptions) {
  const byPath = new Map([...chains.values()].map((chain) => [chainPath(chain.id), chain]));
  let stopping = false;
  const server = createServer((request, response) => {
    const intrusion = explainForeignCaller(request);
    if (intrusion !== undefined) {
      send(response, 403, failure(null, -32_600, intrusion));
      return;
    }
    const answered = isForAttestations(request)
      ? serveAttestations(attestations, request, response)
      : answer(byPath, request, response);
    answered.catch((err: unknown) => {
      if (!stopping) logger.error({ err }, 'a local chain could not answer');
      if (!response.headersSent) send(response, 500, failure(null, -32_603, 'the chain could not answer'));
      else response.destroy();
    });
  });
  return {
    port: await listenLocally(server, port),
    stop(): Promise<void> {
      stopping = true;
      return closeServer(server);
    },
  };
}

async function answer(
  byPath: ReadonlyMap<string, LocalChain>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const chain = byPath.get((request.url ?? '').replace(/\/?(\?.*)?$/, ''));
  if (chain === undefined) return send(response, 404, failure(null, -32_600, `try ${[...byPath.keys()].join(', ')}`));
  if (request.method !== 'POST') return send(response, 405, failure(null, -32_600, 'send JSON-RPC with POST'));
  if (!isJson(request)) return send(response, 415, failure(null, -32_600, 'say content-type: application/json'));
  const text = await readBody(request);
  if (text === undefined) return send(response, 413, failure(null, -32_600, 'a request may hold at most 1 MB'));
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return send(response, 400, failure(null, -32_700, 'this is not JSON'));
  }
  const deadline = performance.now() + longestMs;
  if (!Array.isArray(body)) return send(response, 200, await answerOne(chain, body, deadline));
  if (body.length === 0 || body.length > mostInBatch) {
    return send(response, 400, failure(null, -32_600, `a batch holds 1 to ${mostInBatch} requests`));
  }
  const answers = await answerBatch(chain, body, deadline);
  send(
    response,
    200,
    answers.filter((one) => one !== undefined),
  );
}

/** Calls that run code take turns, so that other clients get a share. */
async function answerBatch(
  chain: LocalChain,
  body: readonly unknown[],
  deadline: number,
): Promise<(object | undefined)[]> {
  let turn: Promise<unknown> = Promise.resolve();
  return Promise.all(
    body.map((one) => {
      if (!runsCode(Object(one) as RpcCall)) return answerOne(chain, one, deadline);
      const answered = turn.then(() => answerOne(chain, one, deadline));
      turn = answered;
      return answered;
    }),
  );
}

/** Undefined for a notification. */
async function answerOne(chain: LocalChain, body: unknown, deadline: number): Promise<object | undefined> {
  if (typeof body !== 'object' || body === null) return failure(null, -32_600, 'a request must be an object');
  const { id = null, method, params = [] } = body as { id?: unknown; method?: unknown; params?: unknown };
  if (typeof method !== 'string' || !Array.isArray(params)) {
    return failure(id, -32_600, 'a request needs a method, and params that are an array');
  }
  const call = limitCall({ method, params });
  const outcome: RpcOutcome = await (runsCode(call) ? inTime(chain, call, deadline) : chain.request(call));
  if (!('id' in body)) return undefined;
  return { jsonrpc: '2.0', id, ...outcome };
}

const tooLong: RpcOutcome = { error: { code: -32_005, message: `it takes longer than ${longestMs / 1_000} seconds` } };

/** The node cannot be interrupted, but the client gets a response, and the gas cap ends the call. */
async function inTime(chain: LocalChain, call: RpcCall, deadline: number): Promise<RpcOutcome> {
  const leftMs = deadline - performance.now();
  if (leftMs <= 0) return tooLong;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<RpcOutcome>((resolve) => {
    timer = setTimeout(() => resolve(tooLong), leftMs);
  });
  return Promise.race([chain.request(call), late]).finally(() => clearTimeout(timer));
}

function failure(id: unknown, code: number, message: string): object {
  return { jsonrpc: '2.0', id, error: { code, message } };
}

function send(response: ServerResponse, status: number, body: object | undefined): void {
  if (body === undefined || (Array.isArray(body) && body.length === 0)) {
    response.writeHead(204).end();
    return;
  }
  const text = JSON.stringify(body);
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  response.writeHead(status, headers).end(text);
}
