import type { IncomingHttpHeaders } from 'node:http';

/** A request to a shop, and where it believes itself to be: its own domain, or whatever a browser has used. */
export interface ShopMessage {
  readonly origin: string;
  readonly url: URL;
  readonly method: string;
  /** Path and query as they stood in the first line. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  /** What came, byte by byte; nothing when it was too long. */
  readonly bytes: Buffer;
  /** Undefined when there was none, or none that is JSON. */
  readonly body: unknown;
}

export interface ShopReply {
  readonly status: number;
  readonly type: string;
  readonly body: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  /** Answers that nobody should give: late, never, or twice. */
  readonly lateMs?: number;
  readonly oddity?: 'held' | 'twice';
}

export function json(body: unknown, more: Partial<ShopReply> = {}): ShopReply {
  return { status: 200, type: 'application/json; charset=utf-8', body: JSON.stringify(body), ...more };
}
