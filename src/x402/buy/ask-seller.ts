import type { Outgoing, OutgoingAnswer } from '../../kernel/outgoing/outgoing.ts';

export const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
type Method = (typeof methods)[number];

/** What is asked of the seller, as the caller wants it. */
export interface SellerRequest {
  readonly method: Method;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface SellerAnswer {
  readonly status: number;
  /** Names in lower case; a list where a header came several times. */
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: Buffer;
  /** The body was longer than anybody reads. */
  readonly truncated: boolean;
}

/** What of a seller's answer is passed on and kept. */
const mostBodyBytes = 1_048_576;

/** Between the seller and us alone. */
const ofTheConnection = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * Asks through the guard of outgoing requests. A redirect is an answer like any other: following it would show the payment to
 * somebody whom the caller has not named.
 */
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
    // One byte more tells that there was more.
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
