import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { createNetworks, type Network, type NetworkSettings } from '../../src/chains/network.ts';
import type { ChainId } from '../../src/money/catalogue.ts';

interface RpcCall {
  readonly method: string;
  readonly params: readonly unknown[];
}

export interface UnrulyRpc {
  readonly url: string;
  readonly network: Network;
  /** How often each method was asked for. */
  readonly asked: ReadonlyMap<string, number>;
  /**
   * From now on: an answer instead of the chain's, a function for what to make of the chain's, `down` for a lost connection,
   * `silent` for none, undefined for its own.
   */
  misbehave(how: (call: RpcCall) => unknown | 'down' | 'silent' | undefined): void;
  /** For `misbehave`: the newest block, at another price. */
  dearBlocks(call: RpcCall, baseFee: bigint): unknown;
}

/** Stands before a local chain and behaves as other people's nodes do. */
export async function startUnrulyRpc(
  chain: ChainId,
  settings: NetworkSettings,
  { host = '127.0.0.1' }: { readonly host?: `127.0.0.${number}` } = {},
): Promise<UnrulyRpc> {
  const [url = ''] = settings.urls;
  const asked = new Map<string, number>();
  let behaviour: (call: RpcCall) => unknown = () => undefined;
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await bodyOf(request);
    const call = JSON.parse(text) as RpcCall & { id: number };
    asked.set(call.method, (asked.get(call.method) ?? 0) + 1);
    const instead = behaviour(call);
    if (instead === 'down') {
      request.socket.destroy();
      return;
    }
    if (instead === 'silent') return;
    response.setHeader('content-type', 'application/json');
    if (instead !== undefined && typeof instead !== 'function') {
      response.end(JSON.stringify({ jsonrpc: '2.0', id: call.id, ...(instead as object) }));
      return;
    }
    const reply = await fetch(url, { method: 'POST', body: text, headers: { 'content-type': 'application/json' } });
    const answered = await reply.text();
    if (instead === undefined) response.end(answered);
    else response.end(JSON.stringify({ jsonrpc: '2.0', id: call.id, result: instead(JSON.parse(answered).result) }));
  }
  const server = createServer((request, response) => {
    answer(request, response).catch(() => request.socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const block = await newestBlock(url);
  const ownUrl = `http://${host}:${port}/secret-path-key`;
  const network = createNetworks(new Map([[chain, { ...settings, urls: [ownUrl] }]])).get(chain);
  if (network === undefined) throw new Error(`${chain} is not running`);
  return {
    url: ownUrl,
    network,
    asked,
    misbehave(how) {
      behaviour = how;
    },
    dearBlocks: ({ method }, baseFee) =>
      method === 'eth_getBlockByNumber'
        ? { result: { ...block, baseFeePerGas: `0x${baseFee.toString(16)}` } }
        : undefined,
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}

async function newestBlock(url: string): Promise<object> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getBlockByNumber', params: ['latest', false] });
  const reply = await fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json' } });
  return ((await reply.json()) as { result: object }).result;
}
