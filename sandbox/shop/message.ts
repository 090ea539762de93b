import type { IncomingHttpHeaders } from 'node:http';

/** A request to a shop. `origin` is the host that the client used. */
export interface ShopMessage {
  readonly origin: string;
  readonly url: URL;
  readonly method: string;
  /** Path and query as sent. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  /** The raw body; empty if it was too long. */
  readonly bytes: Buffer;
  /** Undefined if there is no JSON body. */
  readonly body: unknown;
}

export interface ShopReply {
  readonly status: number;
  readonly type: string;
  readonly body: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  /** Simulated faults: late, held or sent twice. */
  readonly lateMs?: number;
  readonly oddity?: 'held' | 'twice';
}

export function json(body: unknown, more: Partial<ShopReply> = {}): ShopReply {
  return { status: 200, type: 'application/json; charset=utf-8', body: JSON.stringify(body), ...more };
}
