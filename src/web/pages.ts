import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Readiness } from '../kernel/http/health.ts';
import type { OpenApiDocument } from '../kernel/http/openapi.ts';
import { addAssets } from './assets.ts';
import { contentPolicy } from './content-policy.ts';
import { docsPage } from './docs/docs-page.ts';
import { homePage, type Trouble } from './home-page.ts';
import type { Html } from './html.ts';
import type { PageContext } from './layout.ts';
import { type Content, createContent, sendContent } from './send-content.ts';

export interface PageParts {
  readonly document: () => OpenApiDocument;
  readonly mode: 'sandbox' | 'live';
  readonly readiness: Readiness;
}

/** Adds the pages that are the same for every visitor. Returns the context that other pages need. */
export function addPages(app: FastifyInstance, { document, mode, readiness }: PageParts): () => PageContext {
  const assetPath = addAssets(app);
  const context = () => contextOf(document(), mode, assetPath);

  // Rendered on the first request: the document contains the public URL, which is known only once the server listens.
  const reference = keptPages(() => docsPage(document(), context()));
  app.get('/docs', async (request, reply) => send(request, reply, reference('')));

  const home = keptPages((trouble) => homePage(document(), context(), JSON.parse(trouble) as Trouble));
  app.get('/', async (request, reply) => send(request, reply, home(await troubleNow(readiness))));
  return context;
}

/** Caches one page per key. */
function keptPages(render: (about: string) => Html): (about: string) => Content {
  const kept = new Map<string, Content>();
  return (about) => {
    const page = kept.get(about) ?? createContent(Buffer.from(render(about).toString()), 'text/html; charset=utf-8');
    kept.set(about, page);
    return page;
  };
}

/** As text, because it is the key of the page cache. */
async function troubleNow(readiness: Readiness): Promise<string> {
  const results = await readiness();
  const failing = results.flatMap(({ name, passed }) => (passed ? [] : [name]));
  const trouble: Trouble = { failing, away: results.flatMap(({ away }) => away) };
  return JSON.stringify(trouble);
}

function send(request: FastifyRequest, reply: FastifyReply, page: Content): FastifyReply {
  return sendContent(request, reply.header('Content-Security-Policy', contentPolicy), page, 'no-cache');
}

/** Links are paths, not full URLs, so that the pages work under every name of the host. */
function contextOf(
  document: OpenApiDocument,
  mode: PageParts['mode'],
  assetPath: (name: string) => string,
): PageContext {
  const [server] = (document['servers'] ?? []) as readonly { readonly url: string }[];
  const base = server === undefined ? '' : new URL(server.url).pathname.replace(/\/api$/, '');
  return { base, mode, assetUrl: (name) => `${base}${assetPath(name)}` };
}
