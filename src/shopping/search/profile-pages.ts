import type { FastifyInstance } from 'fastify';
import type { SigningKey } from '../../kernel/signing/signing-key.ts';
import { agentProfile, profilePath, profileVersions } from './agent.ts';

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
