import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '../../src/kernel/log/logger.ts';
import type { AttestationService } from '../cctp/attestation-service.ts';
import type { RpcCall } from './evm-node.ts';
import type { LocalChain } from './local-chain.ts';
import { type RpcServer, startRpcServer } from './rpc-server.ts';

/** Calls that reached the chain. */
const asked: RpcCall[] = [];
let running = 0;
let mostRunning = 0;

const chain: LocalChain = {
  id: 'MATIC',
  async request(call) {
    asked.push(call);
    mostRunning = Math.max(mostRunning, ++running);
    await new Promise(setImmediate);
    running--;
    return { result: call.method };
  },
  requestAll: async () => [],
};
const attestations = { answer: async () => ({ status: 200, body: '{}' }) } as unknown as AttestationService;

let server: RpcServer;
beforeAll(async () => {
  const chains = new Map([['MATIC', chain] as const]);
  server = await startRpcServer({ chains, attestations, port: 0, logger: createLogger('silent') });
});
afterAll(() => server.stop());
beforeEach(() => {
  asked.length = 0;
  mostRunning = 0;
});

interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

/** Sends what a browser would: `fetch` cannot set Host and Origin. */
function send({ method = 'POST', path = '/matic', headers = {}, body = call('eth_chainId') }: Sent) {
  return new Promise<{ status: number; headers: IncomingHttpHeaders; body: string }>((resolve, reject) => {
    const given = { host: '127.0.0.1', 'content-type': 'application/json', ...headers };
    const sent = httpRequest({ host: '127.0.0.1', port: server.port, path, method, headers: given }, (response) => {
      text(response).then(
        (said) => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: said }),
        reject,
      );
    });
    sent.on('error', reject);
    sent.end(method === 'POST' ? JSON.stringify(body) : undefined);
  });
}

const call = (method: string, params: readonly unknown[] = []) => ({ jsonrpc: '2.0', id: 1, method, params });

describe('the port of the chains', () => {
  it.each(['evil.example', 'evil.example:8545', '192.168.0.1', '127.0.0.1.evil.example', 'localhost.evil.example'])(
    'does not answer under the name "%s", which somebody may have made to point here',
    async (host) => {
      expect((await send({ headers: { host } })).status).toBe(403);
      expect(asked).toEqual([]);
    },
  );

  it.each(['127.0.0.1', '127.0.0.1:8545', 'localhost:8545', '[::1]:8545'])('answers as %s', async (host) => {
    expect(await send({ headers: { host } })).toMatchObject({ status: 200 });
  });

  it.each(['https://evil.example', 'http://127.0.0.1.evil.example', 'null', 'file://', 'chrome://settings'])(
    'does not answer a page of %s, nor lets it read anything',
    async (origin) => {
      for (const sent of [{}, { method: 'OPTIONS' }, { method: 'GET', path: '/v2/publicKeys' }]) {
        const { status, headers } = await send({ ...sent, headers: { origin } });
        expect(status).toBe(403);
        expect(headers).not.toHaveProperty('access-control-allow-origin');
      }
      expect(asked).toEqual([]);
    },
  );

  it.each(['http://127.0.0.1:8402', 'http://localhost:3000', 'chrome-extension://abc', 'moz-extension://abc'])(
    'answers %s, which is on this machine',
    async (origin) => {
      expect(await send({ headers: { origin } })).toMatchObject({ status: 200 });
    },
  );

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'text/plain; application/json', ''])(
    'takes no request that says it is "%s": a form of any page could send that',
    async (type) => {
      expect((await send({ headers: { 'content-type': type } })).status).toBe(415);
      expect(asked).toEqual([]);
    },
  );

  it('takes JSON with a charset', async () => {
    expect((await send({ headers: { 'content-type': 'application/json; charset=utf-8' } })).status).toBe(200);
  });

  it('takes a batch of a hundred, and not of more', async () => {
    const batch = (length: number) => Array.from({ length }, () => call('eth_blockNumber'));
    expect((await send({ body: batch(101) })).status).toBe(400);
    expect(asked).toEqual([]);
    const { status, body } = await send({ body: batch(100) });
    expect([status, JSON.parse(body).length]).toEqual([200, 100]);
  });

  it('takes no body above a megabyte', async () => {
    expect((await send({ body: call('eth_call', ['x'.repeat(1024 * 1024)]) })).status).toBe(413);
    expect(asked).toEqual([]);
  });

  it('lets calls that run code take turns, with no more gas than is allowed', async () => {
    const batch = [null, ...Array.from({ length: 5 }, () => call('eth_call', [{ to: '0x', gas: '0xffffffffff' }]))];
    const { body } = await send({ body: batch });
    expect(JSON.parse(body)).toHaveLength(6);
    expect(mostRunning).toBe(1);
    for (const { params } of asked) expect(params).toEqual([{ to: '0x', gas: '0x989680' }]);
  });
});
