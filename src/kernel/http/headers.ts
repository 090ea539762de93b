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
    'RateLimit, RateLimit-Policy, Retry-After, X-Request-Id, Idempotency-Replayed, Location, Allow, PAYMENT-REQUIRED, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE',
};

const api = { ...always, ...cors };
const apiOverHttps = { ...api, ...overHttps };
const pageOverHttps = { ...always, ...overHttps };

export function headersFor(path: string, publicUrl: string): Readonly<Record<string, string>> {
  const secure = publicUrl.startsWith('https:');
  if (path.startsWith('/api')) return secure ? apiOverHttps : api;
  return secure ? pageOverHttps : always;
}

export function preflightHeaders(allow: string): Readonly<Record<string, string>> {
  return {
    allow,
    'access-control-allow-methods': allow,
    // Clients of x402 version 1 send Access-Control-Expose-Headers, which only makes sense in responses; the preflight
    // must allow it.
    'access-control-allow-headers':
      'Authorization, Content-Type, Idempotency-Key, PAYMENT-SIGNATURE, X-PAYMENT, Access-Control-Expose-Headers',
    'access-control-max-age': '86400',
  };
}
