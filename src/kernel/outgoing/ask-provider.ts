import { type Dispatcher, request } from 'undici';

/** What a provider did instead of answering. Completes a sentence that begins with its name. */
export class ProviderTrouble extends Error {
  override readonly name = 'ProviderTrouble';
}

export interface ProviderRequest {
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** For the whole exchange, the body included. */
  readonly timeoutMs: number;
  /** A longer body is refused. */
  readonly mostBytes: number;
}

export interface ProviderReply {
  readonly status: number;
  header(name: string): string | undefined;
  /** Reads the body. Otherwise call `drop`. */
  text(): Promise<string>;
  drop(): void;
}

/**
 * For a provider that the operator has chosen: URLs of strangers go through `outgoing.ts`. Redirects are not followed. This is not
 * Node's `fetch`, whose signal is forgotten when garbage is collected after the headers: a provider that then stalls
 * would be waited for without end.
 */
export async function askProvider(
  url: string | URL,
  { method = 'GET', headers = {}, body, timeoutMs, mostBytes }: ProviderRequest,
): Promise<ProviderReply> {
  const signal = AbortSignal.timeout(timeoutMs);
  const reply = await request(url, { method, headers, body: body ?? null, signal }).catch(() => {
    throw new ProviderTrouble('does not answer');
  });
  return {
    status: reply.statusCode,
    header(name) {
      const value = reply.headers[name];
      return Array.isArray(value) ? value[0] : value;
    },
    text: () => readText(reply.body, mostBytes),
    drop() {
      // Its end is an error that nobody waits for.
      reply.body.on('error', () => {}).destroy();
    },
  };
}

async function readText(body: Dispatcher.ResponseData['body'], mostBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      length += chunk.length;
      if (length > mostBytes) throw new ProviderTrouble('answers without end');
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof ProviderTrouble) throw error;
    throw new ProviderTrouble('stopped in the middle of its answer');
  }
  return Buffer.concat(chunks).toString('utf8');
}
