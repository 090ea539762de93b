import type { FastifyInstance, FastifyReply } from 'fastify';
import { httpErrors } from '../../kernel/http/errors.ts';
import { readForms } from '../../kernel/http/parse-form.ts';
import { addressOf } from '../../kernel/http/request-guards.ts';
import { toProblem } from '../../kernel/http/send-problem.ts';
import { readMetadata, registerClient } from './client.ts';
import { type ExchangeParts, issueTokens, revokeGrant } from './exchange.ts';
import { describeResource, describeServer, paths } from './metadata.ts';
import { OAuthError } from './oauth-error.ts';

/** What clients call. The owner's page is in the room of pages. */
export function addOAuthEndpoints(app: FastifyInstance, parts: ExchangeParts): void {
  const { publicUrl, secrets } = parts;

  const documents = [
    { path: paths.server, describe: describeServer, suffixes: () => [basePath(publicUrl())] },
    { path: paths.resource, describe: describeResource, suffixes: () => ['', `${basePath(publicUrl())}/mcp`, '/mcp'] },
  ];
  for (const { path, describe, suffixes } of documents) {
    app.get(path, async () => describe(publicUrl()));
    // Of a service below a path, such as https://example.com/pay, the path comes last (RFC 8414, section 3.1).
    app.get<{ Params: { '*': string } }>(`${path}/*`, async ({ params }) => {
      if (!suffixes().includes(`/${params['*']}`)) throw httpErrors.not_found();
      return describe(publicUrl());
    });
  }

  app.register(async (scope) => {
    answerInOAuth(scope);
    scope.post(paths.register, async ({ body }, reply) => {
      const metadata = readMetadata(body);
      const { id, name, redirectUris } = registerClient(secrets, metadata);
      return reply.code(201).send({
        client_id: id,
        client_name: name,
        redirect_uris: redirectUris,
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      });
    });
  });

  app.register(async (scope) => {
    answerInOAuth(scope);
    readForms(scope);
    scope.post(paths.token, async (request) => issueTokens(parts, visitOf(request)));
    scope.post(paths.revoke, async (request) => {
      await revokeGrant(parts, visitOf(request));
      return {};
    });
  });
}

function basePath(publicUrl: string): string {
  return new URL(publicUrl).pathname.replace(/\/$/, '');
}

function visitOf(request: Parameters<typeof addressOf>[0] & { readonly body: unknown }) {
  return { given: (request.body ?? {}) as Readonly<Record<string, string>>, address: addressOf(request) };
}

/** Everything else stays with the handler of the whole service. */
function answerInOAuth(app: FastifyInstance): void {
  app.setErrorHandler(async (error, request, reply): Promise<FastifyReply> => {
    const { code, status, message } = error instanceof OAuthError ? error : unreadable(error);
    request.refusedWith = code;
    return reply.code(status).send({ error: code, error_description: message });
  });
}

/** A body that cannot be read. */
function unreadable(error: unknown) {
  const { status, message } = toProblem(error);
  if (status !== 400 && status !== 413 && status !== 415) throw error;
  return { code: 'invalid_request', status, message };
}
