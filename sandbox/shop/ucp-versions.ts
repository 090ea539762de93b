/** The versions of UCP that the shop speaks: the newest at the usual address, the one before at an address that it names. */
export const newest = '2026-08-25';
export const before = '2026-04-08';
export type UcpVersion = typeof newest | typeof before;

export const searchCapability = 'dev.ucp.shopping.catalog.search';
export const lookupCapability = 'dev.ucp.shopping.catalog.lookup';
export const checkoutCapability = 'dev.ucp.shopping.checkout';
export const fulfillmentCapability = 'dev.ucp.shopping.fulfillment';

/** The version and the rest of an address below `/ucp/`; undefined for any other. */
export function readUcpPath(pathname: string): { readonly version: UcpVersion; readonly rest: string } | undefined {
  const [, version, rest = ''] = /^\/ucp\/([^/]+)(\/.*)$/.exec(pathname) ?? [];
  return version === newest || version === before ? { version, rest } : undefined;
}

export type Fields = Readonly<Record<string, unknown>>;

/** What somebody else has sent, as something that can be looked into. */
export const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {};
