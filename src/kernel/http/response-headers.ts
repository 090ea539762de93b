import type { FastifyReply, FastifyRequest } from 'fastify';
import { rateLimitHeaders } from './rate-limits.ts';

/**
 * Headers of every response. Names are lower case, as Fastify stores them. Pages relax only the content security
 * policy, for their own styles.
 */
const always = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
};
const overHttps = { 'strict-transport-security': 'max-age=31536000; includeSubDomains' };

/** Any web page may call the API: authorization needs the key in the Authorization header, and there are no cookies. */
const cors = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers':
    'RateLimit, RateLimit-Policy, Retry-After, X-Request-Id, Idempotency-Replayed, Location, Allow, ETag, PAYMENT-REQUIRED, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE',
};

/** Names and values in turn, as Node takes a list of headers. */
type HeaderList = readonly string[];

const listed = (headers: Readonly<Record<string, string>>): HeaderList => Object.entries(headers).flat();
const api = listed({ ...always, ...cors });
const apiOverHttps = listed({ ...always, ...cors, ...overHttps });
const page = listed(always);
const pageOverHttps = listed({ ...always, ...overHttps });

function headersFor(path: string, publicUrl: string): HeaderList {
  const secure = publicUrl.startsWith('https:');
  if (path.startsWith('/api')) return secure ? apiOverHttps : api;
  return secure ? pageOverHttps : page;
}

/** Adds the headers that the response does not have yet. */
export function addHeaders(request: FastifyRequest, reply: FastifyReply, publicUrl: string): void {
  const headers = headersFor(request.url, publicUrl);
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] as string;
    if (!reply.hasHeader(name)) reply.header(name, headers[at + 1]);
  }
  reply.header('x-request-id', request.id);
  if (request.counted !== undefined) {
    const [policyName, policy, name, state] = rateLimitHeaders(request.counted);
    reply.header(policyName, policy).header(name, state);
  }
}

/**
 * Sends the JSON of a route, by far the most frequent response: one list of headers and one body, without the steps
 * that Fastify has for other kinds of responses.
 */
export function sendJson(
  request: FastifyRequest,
  reply: FastifyReply,
  publicUrl: string,
  { status, text }: { readonly status: number; readonly text: string },
): FastifyReply {
  const headers = headersFor(request.url, publicUrl).slice();
  headers.push('x-request-id', request.id);
  if (request.counted !== undefined) headers.push(...rateLimitHeaders(request.counted));
  headers.push('content-type', 'application/json; charset=utf-8', 'content-length', String(Buffer.byteLength(text)));
  reply.raw.writeHead(status, headers);
  reply.hijack();
  reply.raw.end(text);
  return reply;
}
