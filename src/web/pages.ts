import type { FastifyInstance } from 'fastify';
import type { OpenApiDocument } from '../http/openapi.ts';

export interface PageParts {
  readonly document: () => OpenApiDocument;
  readonly mode: 'sandbox' | 'live';
}

/** The pages that people see. */
export function addPages(app: FastifyInstance, { document }: PageParts): void {
  app.get('/docs', async (_request, reply) =>
    reply.type('text/html; charset=utf-8').send(`<pre>${document().info.title}</pre>`),
  );
}
