import type { PublicJwk } from '../../kernel/signing/signing-key.ts';
import { handlerName, handlerSchemaPath, handlerSpecPath, handlerVersion, instrumentType } from './payment-handler.ts';

/** Who we are, to whoever asks. */
export interface ShoppingAgent {
  /** The token that robots.txt may name. */
  readonly token: string;
  readonly userAgent: string;
  /** Where our UCP profile is. */
  readonly profileUrl: string;
}

/** The token that a robots.txt may name. It stays the same whatever the version. */
export const agentToken = 'PaywrightBot';

/** Who we say we are: an honest name, and where to read more about it. */
export function describeAgent(publicUrl: string): ShoppingAgent {
  return {
    token: agentToken,
    userAgent: `${agentToken}/1.0 (+${publicUrl}/bot)`,
    profileUrl: `${publicUrl}${profilePath}`,
  };
}

export const profilePath = '/.well-known/ucp';

/** The newest first: it is the one at the usual address, and names the others. */
export const profileVersions = ['2026-08-25', '2026-04-08'] as const;

/** Our UCP profile as a platform: what we can do with a shop. Shops look at it before they answer. */
export function agentProfile(publicUrl: string, version: (typeof profileVersions)[number], keys: readonly PublicJwk[]) {
  const page = (path: string) => `https://ucp.dev/${version}/${path}`;
  const service = { version, spec: page('specification/overview') };
  const [newest, ...older] = profileVersions;
  return {
    ucp: {
      version,
      ...(version === newest && {
        supported_versions: Object.fromEntries(older.map((one) => [one, `${publicUrl}${profilePath}/${one}`])),
      }),
      services: {
        'dev.ucp.shopping': [
          { ...service, transport: 'rest', schema: page('services/shopping/rest.openapi.json') },
          { ...service, transport: 'mcp', schema: page('services/shopping/mcp.openrpc.json') },
        ],
      },
      capabilities: {
        'dev.ucp.shopping.catalog.search': [
          { version, spec: page('specification/catalog/search'), schema: page('schemas/shopping/catalog_search.json') },
        ],
        'dev.ucp.shopping.checkout': [
          { version, spec: page('specification/checkout'), schema: page('schemas/shopping/checkout.json') },
        ],
        'dev.ucp.shopping.fulfillment': [
          {
            version,
            extends: 'dev.ucp.shopping.checkout',
            spec: page('specification/fulfillment'),
            schema: page('schemas/shopping/fulfillment.json'),
          },
        ],
      },
      payment_handlers: {
        [handlerName(publicUrl)]: [
          {
            id: 'paywright',
            version: handlerVersion,
            spec: `${publicUrl}${handlerSpecPath}`,
            schema: `${publicUrl}${handlerSchemaPath}`,
            available_instruments: [{ type: instrumentType }],
          },
        ],
      },
    },
    // One name for each version of the protocol: both are read by whoever knows only one of them.
    keys,
    signing_keys: keys,
  };
}
