import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createNetworks } from '../../../src/chains/network.ts';
import { describeError } from '../../../src/kernel/jobs/error-reporter.ts';

const key = 'Q7hT-sEcReT_aLcHeMy';
let answer: (request: IncomingMessage, response: ServerResponse) => void = () => {};
const server = createServer((request, response) => answer(request, response));
let place = '';
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  place = `127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** All that a log or a table could get to see of it. */
async function troubleOf(url: string): Promise<string> {
  const networks = createNetworks(new Map([['BASE', { urls: [url], confirmations: 1, pollMs: 10 }]]));
  const error = await networks
    .get('BASE')
    ?.client.getBlockNumber()
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(Error);
  const seen: string[] = [describeError(error)];
  for (let one: unknown = error; typeof one === 'object' && one !== null; one = (one as Error).cause) {
    const { message, stack } = one as Error;
    seen.push(message, stack ?? '', JSON.stringify(one));
  }
  return seen.join('\n');
}

describe('the operator’s key in a node’s address is in no error, when the node', () => {
  const say = (text: (request: IncomingMessage) => string, status = 404) => {
    answer = (request, response) => void response.writeHead(status).end(text(request));
  };

  test.each([
    ['names the path that it does not know', () => say(({ url }) => `Cannot POST ${url}`)],
    ['writes it in small letters', () => say(({ url }) => `no such route: ${url?.toLowerCase()}`)],
    ['writes it for a page', () => say(({ url }) => `<pre>Cannot POST ${encodeURIComponent(url ?? '')}</pre>`)],
    ['names the key alone', () => say(() => `the key ${key} is over its limit`, 429)],
    ['names it in an error of its own', () => say(() => rpcError(`invalid project ${key}`), 200)],
    ['names it beside the error', () => say(() => rpcError('invalid project', { project: key }), 200)],
  ])('%s', async (_what, begin) => {
    begin();
    for (const url of [`http://${place}/v2/${key}`, `http://${place}/?apikey=${key}`, `http://${place}/${key}/rpc`]) {
      const trouble = await troubleOf(url);
      expect(trouble.toLowerCase()).not.toContain(key.toLowerCase());
    }
  });

  test('gives its user name and password away', async () => {
    say(({ headers }) => `who is ${headers.authorization}, and who is operator:${key}?`, 401);
    const trouble = await troubleOf(`http://operator:${key}@${place}/`);
    expect(trouble).not.toContain(key);
    expect(trouble).not.toContain(Buffer.from(`operator:${key}`).toString('base64'));
  });

  test('and what is no secret stays readable', async () => {
    say(() => 'eth_blockNumber is not available', 404);
    expect(await troubleOf(`http://${place}/eth/v2/${key}`)).toContain('eth_blockNumber is not available');
  });
});

function rpcError(message: string, data?: unknown): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32_000, message, data } });
}
