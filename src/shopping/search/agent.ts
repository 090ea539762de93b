import type { FastifyInstance } from 'fastify';
import type { Database } from '../../kernel/db/database.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import {
  createSigningKey,
  exportSigningKey,
  importSigningKey,
  type PublicJwk,
  type SigningKey,
} from '../../kernel/signing/signing-key.ts';
import { handlerName, handlerSchemaPath, handlerSpecPath, handlerVersion, instrumentType } from './payment-handler.ts';

export interface ProfileParts {
  readonly publicUrl: () => string;
  /** Signs our requests to shops. */
  readonly agentKey: () => Promise<SigningKey>;
}

export function addProfilePages(app: FastifyInstance, { publicUrl, agentKey }: ProfileParts): void {
  for (const [index, version] of profileVersions.entries()) {
    app.get(index === 0 ? profilePath : `${profilePath}/${version}`, async (_request, reply) => {
      const { publicJwk } = await agentKey();
      return reply
        .header('Cache-Control', 'public, max-age=3600')
        .type('application/json; charset=utf-8')
        .send(JSON.stringify(agentProfile(publicUrl(), version, [publicJwk])));
    });
  }
}

const keyName = 'requests';

/**
 * The key that signs our requests to shops; its public half is in our UCP profile. The first use creates it, and all instances
 * share it.
 */
export function createAgentKey(db: Database, secrets: Secrets): () => Promise<SigningKey> {
  let known: Promise<SigningKey> | undefined;

  async function find(): Promise<SigningKey | undefined> {
    const { rows } = await db.query<{ sealed: Buffer }>('SELECT sealed FROM agent_keys WHERE name = $1', [keyName]);
    return rows[0] && importSigningKey(secrets.open('agent-keys', rows[0].sealed));
  }

  async function findOrAdd(): Promise<SigningKey> {
    const found = await find();
    if (found !== undefined) return found;
    const fresh = createSigningKey();
    await db.query('INSERT INTO agent_keys (name, sealed) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
      keyName,
      secrets.seal('agent-keys', exportSigningKey(fresh)),
    ]);
    // Two instances may create a key at once; the row that was inserted wins.
    return (await find()) ?? fresh;
  }

  return () => {
    known ??= findOrAdd().catch((error: unknown) => {
      known = undefined;
      throw error;
    });
    return known;
  };
}

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

const profilePath = '/.well-known/ucp';

/** Newest first. The newest profile is served at `profilePath` and lists the older ones. */
const profileVersions = ['2026-08-25', '2026-04-08'] as const;

/** Our UCP platform profile. Shops read it before they answer. */
function agentProfile(publicUrl: string, version: (typeof profileVersions)[number], keys: readonly PublicJwk[]) {
  const page = (path: string) => `https://ucp.dev/${version}/${path}`;
  const service = { version, spec: page('specification/overview') };
  const capability = (name: string) => ({
    version,
    spec: page(`specification/${name}`),
    schema: page(`schemas/shopping/${name.replace('/', '_')}.json`),
  });
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
        'dev.ucp.shopping.catalog.search': [capability('catalog/search')],
        'dev.ucp.shopping.checkout': [capability('checkout')],
        'dev.ucp.shopping.fulfillment': [{ ...capability('fulfillment'), extends: 'dev.ucp.shopping.checkout' }],
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
