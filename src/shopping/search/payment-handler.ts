import { isIP } from 'node:net';

/** Our UCP payment handler: a credential for one checkout, which the merchant redeems with us. */
export const handlerVersion = '2026-11-15';

/** UCP requires a handler's name to match the host of its specification and schema, so both are served from our own host. */
export const handlerSpecPath = '/.well-known/ucp/handlers/paywright';
export const handlerSchemaPath = '/.well-known/ucp/handlers/paywright.json';

export const instrumentType = 'paywright_balance';
export const credentialType = 'paywright_token';

/** The host in reverse-domain notation. Every local host gets the same name, so that local shops and services agree on it. */
export function handlerName(publicUrl: string): string {
  const { hostname } = new URL(publicUrl);
  const host = hostname.replace(/^\[|\]$/g, '');
  const local = host === 'localhost' || host.endsWith('.localhost') || isIP(host) !== 0;
  return `${local ? 'localhost' : host.split('.').reverse().join('.')}.paywright`;
}
