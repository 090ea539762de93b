import { isIP } from 'node:net';

/** Our way of paying as UCP knows it: a credential for one checkout, which the merchant redeems with us. */
export const handlerVersion = '2026-11-15';

/** Where its specification and its schema are, below our own address: a handler's name must be spelt by their host. */
export const handlerSpecPath = '/.well-known/ucp/handlers/paywright';
export const handlerSchemaPath = '/.well-known/ucp/handlers/paywright.json';

export const instrumentType = 'paywright_balance';
export const credentialType = 'paywright_token';

/** The name by which shops list it: that of our host, read backwards. On this machine alone it is the same for everybody. */
export function handlerName(publicUrl: string): string {
  const { hostname } = new URL(publicUrl);
  const host = hostname.replace(/^\[|\]$/g, '');
  const local = host === 'localhost' || host.endsWith('.localhost') || isIP(host) !== 0;
  return `${local ? 'localhost' : host.split('.').reverse().join('.')}.paywright`;
}
