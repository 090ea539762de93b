import { headerNames } from '../wire/header.ts';

/** Standard headers that callers may send to a seller. */
const allowed = new Set([
  ...'authorization baggage cache-control content-digest content-language content-type date'.split(' '),
  ...'if-match if-modified-since if-none-match if-range if-unmodified-since last-event-id mcp-session-id'.split(' '),
  ...'pragma prefer range signature signature-input traceparent tracestate'.split(' '),
  // RapidAPI's gateway requires its own host name here and trusts nothing because of it.
  'x-rapidapi-host',
]);

/** Accept headers, except Accept-Encoding: we read the answer, so we choose its compression. */
const accepts = /^accept(?:-(?!encoding$)[a-z]+)?$/;

/** Custom names: `x-…`, and keys and versions such as `api-key` and `anthropic-version`. */
const chosenBySellers = /^x-|(?:^|-)(?:apikey|key|token|version)$/;

/**
 * Words in header names that servers trust from their own proxies: client address, user, method, path. We send the
 * request, so a seller that trusts such a header would trust whatever the caller claims.
 */
const believed = [
  /^(?:client|real|remote|true|source|src|user|socket|peer|origin|public|visitor)?ips?(?:v[46]|addr.*|country)?$/,
  /addr(?:ess)?(?:es)?$|^remote|host(?:name)?$|^ports?$|^connecting$/,
  /^forward|prox(?:y|ied)|^(?:via|hops?|original|originating|upstream|cluster|envoy|appengine|arr|accel|sendfile|middleware|subrequest)$/,
  /^(?:proto|scheme|https|ssl|m?tls|ur[il]|path|redirect|sec|websocket)$|rewrite/,
  /method|override|^verb$/,
  /user|email|^authenticated|^(?:oidc|saml|iap|assertion|claims?|identity|principal|subject|sub|consumer|credentials?|roles?|groups?)$/,
  /cert(?:ificate)?$|^(?:dn|spiffe|admin|internal|trusted|verified|impersonate|sudo|actor|behalf|cookies?)$/,
];

/** Expects the name in lower case. */
export function isForSellers(name: string): boolean {
  if (allowed.has(name) || accepts.test(name)) return true;
  if (!chosenBySellers.test(name) || name === headerNames[1].payment || name.startsWith('x-auth-request-'))
    return false;
  return !name.split('-').some((word) => believed.some((pattern) => pattern.test(word)));
}
