import { type Dispatcher, request } from 'undici';
import { createTransport, HttpRequestError, type HttpTransport, RpcRequestError, TimeoutError } from 'viem';

const mostBytes = 10_485_760;

interface RpcBody {
  readonly method: string;
  readonly params?: unknown;
}

interface RpcReply {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/**
 * JSON-RPC over HTTP. A node's address often holds the operator's key, so errors name the origin alone: no log, no answer
 * and no table ever sees the rest. viem's own transport puts the whole address into its errors, and builds a Request, a
 * Response and a stream for each call, which took more CPU than the call itself.
 */
export function discreetHttp(url: string, timeoutMs: number): HttpTransport {
  const { address, headers } = takeCredentials(url);
  const shown = `${address.origin}/…`;
  let lastId = 0;

  async function ask({ method, params }: RpcBody): Promise<unknown> {
    const body = { method, params };
    const text = JSON.stringify({ jsonrpc: '2.0', id: ++lastId, ...body }, bigintAsText);
    const reply = await post(text).catch((error: unknown) => {
      if (error instanceof HttpRequestError) throw error;
      if (error instanceof Error && error.name === 'TimeoutError') throw new TimeoutError({ body, url: shown });
      throw new HttpRequestError({ body, cause: error as Error, url: shown });
    });
    if (reply.error) throw new RpcRequestError({ body, error: reply.error, url: shown });
    return reply.result;
  }

  async function post(body: string): Promise<RpcReply> {
    const answer = await request(address, { method: 'POST', headers, body, signal: AbortSignal.timeout(timeoutMs) });
    // A node may quote its own address in an error.
    const text = (await readText(answer)).replaceAll(url, shown);
    const isGood = answer.statusCode >= 200 && answer.statusCode < 300;
    const reply = parse(text, isGood);
    const { error } = reply;
    if (isGood || (typeof error?.code === 'number' && typeof error.message === 'string')) return reply;
    throw new HttpRequestError({ details: text.slice(0, 500), status: answer.statusCode, url: shown });
  }

  // How often to try is decided in one place, by the list of addresses.
  return (() =>
    createTransport(
      { key: 'http', name: 'HTTP JSON-RPC', type: 'http', request: ask as never, retryCount: 0, timeout: timeoutMs },
      { url: shown },
    )) as unknown as HttpTransport;
}

function takeCredentials(url: string): { readonly address: URL; readonly headers: Record<string, string> } {
  const address = new URL(url);
  const headers = { 'content-type': 'application/json' };
  if (address.username === '') return { address, headers };
  const credentials = `${decodeURIComponent(address.username)}:${decodeURIComponent(address.password)}`;
  address.username = '';
  address.password = '';
  return { address, headers: { ...headers, authorization: `Basic ${btoa(credentials)}` } };
}

function bigintAsText(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}

async function readText({ headers, body }: Dispatcher.ResponseData): Promise<string> {
  const length = Number(headers['content-length']);
  if (length <= mostBytes) return body.text();
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > mostBytes) throw new Error(`the answer is longer than ${mostBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** What a proxy says in front of a node that is down is no JSON. */
function parse(text: string, isGood: boolean): RpcReply {
  try {
    return JSON.parse(text || '{}') as RpcReply;
  } catch (error) {
    if (isGood) throw error;
    return {};
  }
}
