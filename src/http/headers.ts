/** Sent with every answer. Pages relax the content policy for their own styles, nothing else. */
const always = {
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cache-Control': 'no-store',
};
const alwaysOverHttps = { ...always, 'Strict-Transport-Security': 'max-age=31536000; includeSubDomains' };

export function securityHeaders(publicUrl: string): Readonly<Record<string, string>> {
  return publicUrl.startsWith('https:') ? alwaysOverHttps : always;
}

/** Any web page may call the API: what counts is the key in the Authorization header, and there are no cookies. */
export const corsHeaders = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers':
    'RateLimit, RateLimit-Policy, Retry-After, X-Request-Id, Idempotency-Replayed, Location, Allow',
};

export function preflightHeaders(allow: string): Readonly<Record<string, string>> {
  return {
    Allow: allow,
    'Access-Control-Allow-Methods': allow,
    'Access-Control-Allow-Headers': 'Authorization, Content-Type, Idempotency-Key',
    'Access-Control-Max-Age': '86400',
  };
}
