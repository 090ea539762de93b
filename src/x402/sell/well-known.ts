import type { FastifyInstance } from 'fastify';
import type { SellingParts } from './parts.ts';
import { describeShop } from './routes.ts';

/** The discovery document for x402 clients. CORS is open, as for the calls themselves. */
export function addDiscoveryPage(app: FastifyInstance, parts: Pick<SellingParts, 'till' | 'publicUrl'>): void {
  app.get('/.well-known/x402', async (_request, reply) =>
    reply
      .header('access-control-allow-origin', '*')
      .type('application/json; charset=utf-8')
      .send(JSON.stringify(await describeShop(parts))),
  );
}
