import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { createContent, sendContent } from './send-content.ts';

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
export function addAssets(app: FastifyInstance): (name: string) => string {
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
