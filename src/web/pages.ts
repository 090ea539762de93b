import type { FastifyInstance } from 'fastify';
import type { OpenApiDocument } from '../http/openapi.ts';
import { addAssets } from './assets.ts';
import { contentPolicy } from './content-policy.ts';
import { docsPage } from './docs/docs-page.ts';
import { homePage } from './home-page.ts';
import type { Html } from './html.ts';
import type { PageContext } from './layout.ts';
import { type Content, createContent, sendContent } from './send-content.ts';

export interface PageParts {
  readonly document: () => OpenApiDocument;
  readonly mode: 'sandbox' | 'live';
}

/** The pages that are the same for everybody. Returns what further pages need to know about where they stand. */
export function addPages(app: FastifyInstance, { document, mode }: PageParts): () => PageContext {
  const assetPath = addAssets(app);
  const context = () => contextOf(document(), mode, assetPath);

  const addPage = (path: string, render: (document: OpenApiDocument, context: PageContext) => Html) => {
    // The document names the public address, which is known only once the server listens: hence on first request.
    let rendered: Content | undefined;
    app.get(path, async (request, reply) => {
      rendered ??= toContent(render(document(), context()));
      return sendContent(request, reply.header('Content-Security-Policy', contentPolicy), rendered, 'no-cache');
    });
  };

  addPage('/', homePage);
  addPage('/docs', docsPage);
  return context;
}

function toContent(page: Html): Content {
  return createContent(Buffer.from(page.toString()), 'text/html; charset=utf-8');
}

/** Links are paths and not full addresses, so that the pages work under every name that the host is reached by. */
function contextOf(
  document: OpenApiDocument,
  mode: PageParts['mode'],
  assetPath: (name: string) => string,
): PageContext {
  const [server] = (document['servers'] ?? []) as readonly { readonly url: string }[];
  const base = server === undefined ? '' : new URL(server.url).pathname.replace(/\/api$/, '');
  return { base, mode, assetUrl: (name) => `${base}${assetPath(name)}` };
}
