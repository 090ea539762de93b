import { request } from 'undici';
import { createTransport, HttpRequestError, type HttpTransport, RpcRequestError, TimeoutError } from 'viem';

interface RpcReply {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

const headers = { 'content-type': 'application/json' };

/**
 * JSON-RPC to a local chain. viem's transport builds a Request, a Response and a stream per call, which costs more CPU than the
 * call itself. Real nodes still use viem's: they redirect, compress, and have secret URLs.
 */
export function localHttp(url: string, timeoutMs: number): HttpTransport {
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
