import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { httpErrors } from '../kernel/http/errors.ts';
import type { Readiness } from '../kernel/http/health.ts';
import type { OpenApiDocument } from '../kernel/http/openapi.ts';
import { contentPolicy } from './content-policy.ts';
import { docsPage } from './docs/docs-page.ts';
import { renderMachineDocs } from './docs/machine-docs.ts';
import { homePage, type ReadinessProblems } from './home-page.ts';
import type { Html } from './html.ts';
import type { PageContext } from './layout.ts';

/** A response that stays the same while the process runs, kept in memory. */
interface Content {
  readonly bytes: Buffer;
  /** Compressed variants, best first. */
  readonly codings: readonly { readonly name: string; readonly bytes: Buffer }[];
  readonly type: string;
  readonly etag: string;
}

function createContent(bytes: Buffer, type: string): Content {
  const digest = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
  // A weak tag, because it covers the plain and the compressed bytes.
  const codings = [
    { name: 'br', bytes: brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: brotliQuality } }) },
    { name: 'gzip', bytes: gzipSync(bytes, { level: 9 }) },
  ];
  return { bytes, type, codings, etag: `W/"${digest}"` };
}

/** A higher quality takes ten times as long and saves 5 %. */
const brotliQuality = 6;

function sendContent(
  request: FastifyRequest,
  reply: FastifyReply,
  content: Content,
  cacheControl: string,
): FastifyReply {
  reply.headers({ ETag: content.etag, 'Cache-Control': cacheControl, Vary: 'Accept-Encoding' });
  if (matches(request.headers['if-none-match'], content.etag)) return reply.code(304).send();
  reply.type(content.type);
  const coding = content.codings.find(({ name }) => takes(request.headers['accept-encoding'], name));
  if (coding === undefined) return reply.send(content.bytes);
  return reply.header('Content-Encoding', coding.name).send(coding.bytes);
}

function matches(header: string | undefined, etag: string): boolean {
  const opaque = (tag: string) => tag.trim().replace(/^W\//, '');
  return (header ?? '').split(',').some((tag) => tag.trim() === '*' || opaque(tag) === opaque(etag));
}

function takes(header: string | undefined, coding: string): boolean {
  return (header ?? '').split(',').some((accepted) => {
    const [name = '', ...parameters] = accepted.split(';').map((part) => part.trim().toLowerCase());
    return name === coding && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
  });
}

const folder = new URL('./assets/', import.meta.url);
const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/**
 * Serves styles, scripts and the logo. Their path contains a fingerprint of all of them, so browsers may cache them for ever. A request with another
 * fingerprint is answered without caching: during a rolling release a page of one instance may load assets from another.
 */
function addAssets(app: FastifyInstance): (name: string) => string {
  const files = readdirSync(folder)
    .sort()
    .map((name) => {
      const type = types[extname(name)];
      if (type === undefined) throw new Error(`the asset ${name} has an unknown media type`);
      return { name, content: createContent(readFileSync(new URL(name, folder)), type) };
    });
  const fingerprint = files
    .reduce((hash, { content }) => hash.update(content.bytes), createHash('sha256'))
    .digest('hex')
    .slice(0, 12);

  for (const { name, content } of files) {
    app.get<{ Params: { fingerprint: string } }>(`/assets/:fingerprint/${name}`, async (request, reply) => {
      const current = request.params.fingerprint === fingerprint;
      return sendContent(request, reply, content, current ? 'public, max-age=31536000, immutable' : 'no-cache');
    });
  }
  return (name) => `/assets/${fingerprint}/${name}`;
}

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

  addMachineDocs(app, () => renderMachineDocs(document(), context()));

  const home = keptPages((trouble) => homePage(document(), context(), JSON.parse(trouble) as ReadinessProblems));
  app.get('/', async (request, reply) => send(request, reply, home(await troubleNow(readiness))));
  return context;
}

/** Rendered together on the first request for one of them. */
function addMachineDocs(app: FastifyInstance, render: () => Promise<ReadonlyMap<string, string>>): void {
  let rendered: Promise<ReadonlyMap<string, Content>> | undefined;
  const renderAll = async () =>
    new Map([...(await render())].map(([path, text]) => [path, createContent(Buffer.from(text), textTypeOf(path))]));
  for (const path of ['/docs.md', '/docs/:file', '/llms.txt', '/llms-full.txt', '/skill.md']) {
    app.get<{ Params: { file?: string } }>(path, async (request, reply) => {
      rendered ??= renderAll();
      const { file } = request.params;
      const content = (await rendered).get(file === undefined ? path : `/docs/${file}`);
      if (content === undefined) throw httpErrors.not_found();
      return sendContent(request, reply, content, 'no-cache');
    });
  }
}

function textTypeOf(path: string): string {
  return `text/${extname(path) === '.md' ? 'markdown' : 'plain'}; charset=utf-8`;
}

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
  const trouble: ReadinessProblems = { failing, away: results.flatMap(({ away }) => away) };
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
