import type { FastifyRequest } from 'fastify';
import { httpErrors } from '../kernel/http/errors.ts';
import { parseJsonBody } from '../kernel/http/parse-body.ts';
import { describeProblem, toProblem } from '../kernel/http/send-problem.ts';
import type { ApiAccess } from '../kernel/http/server.ts';
import { newId } from '../kernel/ids/ids.ts';
import type { Logger } from '../kernel/log/logger.ts';
import type { ApiAnswer, CallApi } from './api-port.ts';

export interface InProcessParts {
  readonly api: ApiAccess;
  readonly publicUrl: () => string;
  readonly logger: Logger;
}

/** Calls operations for the caller of a request, which was authenticated and counted already. */
export function callInProcess({ api, publicUrl, logger }: InProcessParts, request: FastifyRequest): CallApi {
  let calls = 0;
  return async ({ operationId, method, path, params, query, body, headers, signal }) => {
    const id = newId('req');
    const search = new URLSearchParams(query).toString();
    const target = `/api${path.replace(/\{(\w+)\}/g, (_match, name: string) => encodeURIComponent(params[name] ?? ''))}`;
    const url = search === '' ? target : `${target}?${search}`;
    try {
      const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
      const answer = await api.call(operationId, {
        id,
        method,
        url,
        originalUrl: url,
        headers: { ...headers, accept: 'application/json' },
        params,
        // Read like any other body, with the same limits on its text.
        body: bytes && parseJsonBody(bytes),
        bytes,
        caller: request.caller,
        ip: request.ip,
        socket: request.socket,
        gone: signal,
      });
      // A tool that waits calls again and again, and its key may have been revoked meanwhile.
      if (calls++ > 0 && !(await api.isStillKnown(request))) throw httpErrors.unauthorized();
      return answer as ApiAnswer;
    } catch (error) {
      const problem = toProblem(error);
      if (problem.status >= 500 && problem.status !== 502 && problem.status !== 504) {
        logger.error({ err: error, requestId: id }, 'a tool call failed');
      }
      problem.whenSent?.();
      const wait = Number(problem.extras.headers?.['Retry-After']);
      return {
        status: problem.status,
        body: describeProblem(problem, id, publicUrl()),
        ...(Number.isFinite(wait) && { retryAfterSeconds: wait }),
      };
    }
  };
}
