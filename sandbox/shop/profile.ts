import { json, type ShopReply } from './message.ts';
import type { Shop, ShopRequest } from './shop.ts';
import {
  before,
  checkoutCapability,
  fulfillmentCapability,
  lookupCapability,
  newest,
  searchCapability,
  type UcpVersion,
} from './ucp-versions.ts';

/** The shop's UCP profile. */
export async function answerProfile({ shop, origin, url, method }: ShopRequest): Promise<ShopReply | undefined> {
  if (method !== 'GET' || (shop.checkout === undefined && !shop.ways.includes('ucp'))) return undefined;
  const version = ({ '/.well-known/ucp': newest, [`/.well-known/ucp/${before}`]: before } as const)[url.pathname];
  if (version === undefined) return undefined;
  const profile = {
    ucp: {
      version,
      ...(version === newest && { supported_versions: { [before]: `${origin}/.well-known/ucp/${before}` } }),
      services: services(origin, version),
      capabilities: capabilities(shop, version),
      payment_handlers: shop.checkout?.paymentHandlers() ?? {},
    },
    ...(shop.checkout !== undefined && (await keysOf(shop.checkout))),
  };
  return json(profile, { headers: { 'Cache-Control': 'public, max-age=300' } });
}

const pageOf = (version: UcpVersion) => (path: string) => `https://ucp.dev/${version}/${path}`;

function services(origin: string, version: UcpVersion): object {
  const page = pageOf(version);
  const service = { version, spec: page('specification/overview') };
  const endpoint = `${origin}/ucp/${version}`;
  return {
    'dev.ucp.shopping': [
      { ...service, transport: 'rest', endpoint, schema: page('services/shopping/rest.openapi.json') },
      { ...service, transport: 'mcp', endpoint: `${endpoint}/mcp`, schema: page('services/shopping/mcp.openrpc.json') },
    ],
  };
}

function capabilities({ ways, checkout }: Shop, version: UcpVersion): object {
  const page = pageOf(version);
  return {
    ...(checkout !== undefined && {
      [checkoutCapability]: [
        { version, spec: page('specification/checkout'), schema: page('schemas/shopping/checkout.json') },
      ],
      [fulfillmentCapability]: [
        {
          version,
          spec: page('specification/fulfillment'),
          schema: page('schemas/shopping/fulfillment.json'),
          extends: checkoutCapability,
        },
      ],
    }),
    ...(ways.includes('ucp') && {
      [searchCapability]: [
        { version, spec: page('specification/catalog/search'), schema: page('schemas/shopping/catalog_search.json') },
      ],
      [lookupCapability]: [
        { version, spec: page('specification/catalog/lookup'), schema: page('schemas/shopping/catalog_lookup.json') },
      ],
    }),
  };
}

/** The two versions use different names for the same keys. */
async function keysOf(checkout: NonNullable<Shop['checkout']>): Promise<object> {
  const keys = [await checkout.publicKey()];
  return { keys, signing_keys: keys };
}
