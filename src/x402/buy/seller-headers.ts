import { headerNames } from '../wire/header.ts';

/** What a request may say to a seller beside names of the seller's own. */
const allowed = new Set<string>([
  'authorization',
  'baggage',
  'cache-control',
  'content-digest',
  'content-language',
  'content-type',
  'date',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'last-event-id',
  'mcp-session-id',
  'pragma',
  'prefer',
  'range',
  'signature',
  'signature-input',
  'traceparent',
  'tracestate',
  // Its gateway asks for its own name, and believes nothing because of it.
  'x-rapidapi-host',
]);

/** What may be said in a certain language or form. How an answer is compressed is ours to say, because we read it. */
const accepts = /^accept(?:-(?!encoding$)[a-z]+)?$/;

/** Names that sellers choose: `x-…`, and keys and versions such as `api-key` and `anthropic-version`. */
const chosenBySellers = /^x-|(?:^|-)(?:apikey|key|token|version)$/;

/**
 * Words of names that servers believe of their own proxies and gateways: where a request comes from, whom it is from, and which method or
 * path it is meant for. Who asks are we, and nobody on whose behalf: a seller that believes these would be led to believe the caller.
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

/** Whether a caller may send a header of this name, in lower case, to a seller. */
export function isForSellers(name: string): boolean {
  if (allowed.has(name) || accepts.test(name)) return true;
  if (!chosenBySellers.test(name) || name === headerNames[1].payment || name.startsWith('x-auth-request-'))
    return false;
  return !name.split('-').some((word) => believed.some((pattern) => pattern.test(word)));
}
