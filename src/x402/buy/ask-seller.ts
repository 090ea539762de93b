import type { Outgoing, OutgoingAnswer } from '../../kernel/outgoing/outgoing.ts';

export const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
type Method = (typeof methods)[number];

/** The request to the seller, as the caller gave it. */
export interface SellerRequest {
  readonly method: Method;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface SellerAnswer {
  readonly status: number;
  /** Names are in lower case. Repeated headers are lists. */
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: Buffer;
  readonly truncated: boolean;
}

/** The rest of a longer body is dropped. */
const mostBodyBytes = 1_048_576;

/** Hop-by-hop headers, which are not passed on. */
const ofTheConnection = new Set(
  'connection keep-alive proxy-authenticate proxy-connection te trailer transfer-encoding upgrade'.split(' '),
);

/** Redirects are not followed: that would show the payment to a server that the caller did not name. */
export async function askSeller(
  outgoing: Outgoing,
  { method, url, headers, body }: SellerRequest,
  { timeoutMs, payment = {} }: { readonly timeoutMs: number; readonly payment?: Readonly<Record<string, string>> },
): Promise<SellerAnswer> {
  const answer = await outgoing.request({
    method,
    url,
    headers: { accept: '*/*', ...headers, ...payment },
    ...(body !== undefined && { body }),
    timeoutMs,
    // One extra byte reveals a longer body.
    maxBodyBytes: mostBodyBytes + 1,
    truncateBody: true,
  });
  return {
    status: answer.status,
    headers: passedOn(answer.headers),
    body: answer.body.subarray(0, mostBodyBytes),
    truncated: answer.body.length > mostBodyBytes,
  };
}

function passedOn(headers: OutgoingAnswer['headers']): Record<string, string | string[]> {
  const kept: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !ofTheConnection.has(name)) kept[name] = value;
  }
  return kept;
}
