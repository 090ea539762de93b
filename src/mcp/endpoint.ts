import { createMcpHandler } from '@modelcontextprotocol/server';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { askForToken } from '../accounts/oauth/metadata.ts';
import { whenHungUp } from '../kernel/http/client-gone.ts';
import { httpErrors } from '../kernel/http/errors.ts';
import { countsAsApi } from '../kernel/http/request-guards.ts';
import { callInProcess, type InProcessParts } from './in-process.ts';
import { answerPlainCall, readPlainCall } from './plain-call.ts';
import { createMcpServer, identityOf, type ServerParts } from './server.ts';
import type { ToolCaller } from './toolbox.ts';

export type EndpointParts = InProcessParts & { readonly serverParts: () => ServerParts };

/** POST /mcp, for every protocol version. Nothing is kept between two requests, so any instance can answer. */
export function addMcpEndpoint(app: FastifyInstance, parts: EndpointParts): void {
  const { api, publicUrl, logger, serverParts } = parts;
  const handler = createMcpHandler(
    ({ authInfo }) => createMcpServer(serverParts(), authInfo?.extra?.['caller'] as ToolCaller),
    { onerror: (error) => logger.debug({ err: error }, 'an MCP request was refused') },
  );
  app.addHook('onClose', async () => handler.close());

  app.post('/mcp', { config: countsAsApi, onRequest: api.guard }, async (request, reply) => {
    refuseForeignOrigin(request, publicUrl());
    const { caller } = request;
    if (caller === undefined) {
      const gaveOne = request.headers.authorization !== undefined;
      const headers = { 'WWW-Authenticate': askForToken(publicUrl(), { gaveOne }) };
      throw httpErrors.unauthorized(undefined, { headers });
    }
    for (const _ of otherMessages(request.body)) await api.count(request);
    const toolCaller: ToolCaller = {
      account: String(caller.accountId),
      call: callInProcess(parts, request),
      scopes: caller.scopes,
    };
    const { version, toolbox } = serverParts();
    const plain = readPlainCall(request.headers, request.body);
    const running = plain && toolbox.callPlainly?.(toolCaller, plain, whenHungUp(request.socket));
    if (plain !== undefined && running !== undefined) {
      const { type, text } = answerPlainCall(plain, await running, identityOf(version));
      return reply.headers({ 'Content-Type': type, 'Cache-Control': 'no-store' }).send(Buffer.from(text));
    }
    const gone = new AbortController();
    reply.raw.once('close', () => gone.abort());
    const web = new Request(`${publicUrl()}/mcp`, {
      method: 'POST',
      headers: textHeaders(request.headers),
      signal: gone.signal,
    });
    const response = await handler.fetch(web, {
      parsedBody: request.body,
      authInfo: { token: '', clientId: caller.keyId, scopes: [...caller.scopes], extra: { caller: toolCaller } },
    });
    return send(reply, response);
  });

  app.route({
    method: ['GET', 'DELETE', 'PUT', 'PATCH'],
    url: '/mcp',
    handler: async () => {
      throw httpErrors.method_not_allowed(undefined, { headers: { Allow: 'POST' } });
    },
  });
}

/** Protocol 2025-03-26 has batches. The guard has counted one message of it. */
function otherMessages(body: unknown): readonly unknown[] {
  return Array.isArray(body) ? body.slice(1) : [];
}

/** A page of another site in the owner's browser is never a client. Programs send no Origin. */
function refuseForeignOrigin({ headers: { origin } }: FastifyRequest, publicUrl: string): void {
  if (origin !== undefined && origin !== new URL(publicUrl).origin) {
    throw httpErrors.forbidden('Pages of other sites may not use MCP.');
  }
}

/** Without the key, which no part of the protocol needs any more. */
function textHeaders({ authorization: _, ...headers }: FastifyRequest['headers']): Headers {
  const texts = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === 'string' && (name.startsWith('mcp-') || name === 'accept' || name === 'content-type')) {
      texts.set(name, value);
    }
  }
  return texts;
}

function send(reply: FastifyReply, response: Response): FastifyReply {
  reply.code(response.status).headers(Object.fromEntries(response.headers));
  reply.header('Cache-Control', 'no-store');
  // Of null, Fastify would send the JSON text.
  return reply.send(response.body ?? undefined);
}
