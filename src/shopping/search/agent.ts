import type { PublicJwk } from '../../kernel/signing/signing-key.ts';
import { handlerName, handlerSchemaPath, handlerSpecPath, handlerVersion, instrumentType } from './payment-handler.ts';

/** How the service identifies itself to shops. */
export interface ShoppingAgent {
  /** The product token that a robots.txt can name. */
  readonly token: string;
  readonly userAgent: string;
  readonly profileUrl: string;
}

/** Site owners write this token into their robots.txt, so it must not change between versions. */
export const agentToken = 'PaywrightBot';

export function describeAgent(publicUrl: string): ShoppingAgent {
  return {
    token: agentToken,
    userAgent: `${agentToken}/1.0 (+${publicUrl}/bot)`,
    profileUrl: `${publicUrl}${profilePath}`,
  };
}

export const profilePath = '/.well-known/ucp';

/** Newest first. The newest profile is served at `profilePath` and lists the older ones. */
export const profileVersions = ['2026-08-25', '2026-04-08'] as const;

/** Our UCP platform profile. Shops read it before they answer. */
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
    // The two protocol versions use different names for the same keys.
    keys,
    signing_keys: keys,
  };
}
