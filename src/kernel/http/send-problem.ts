import type { FastifyReply } from 'fastify';
import { isUnavailable } from '../db/database.ts';
import { OutcomeUnknown, TryAgain } from '../db/errors.ts';
import { NoPlace } from '../places/places.ts';
import { httpErrors } from './errors.ts';
import { Problem, type ProblemExtras } from './problem.ts';

export function problemType(publicUrl: string, code: string): string {
  return `${publicUrl}/docs#error-${code}`;
}

export function sendProblem(reply: FastifyReply, problem: Problem, requestId: string, publicUrl: string): FastifyReply {
  problem.whenSent?.();
  return reply
    .code(problem.status)
    .headers(problem.extras.headers ?? {})
    .type('application/problem+json')
    .send(JSON.stringify(describeProblem(problem, requestId, publicUrl)));
}

export function describeProblem(problem: Problem, requestId: string, publicUrl: string) {
  const { errors, members = {} } = problem.extras;
  return {
    type: problemType(publicUrl, problem.code),
    title: problem.title,
    status: problem.status,
    detail: problem.message,
    code: problem.code,
    requestId,
    ...(errors !== undefined && { errors }),
    ...members,
  };
}

/** Unexpected errors become an internal error without details, so that nothing internal leaks. */
export function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const { code, statusCode } = error as { code?: string; statusCode?: number };
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return httpErrors.payload_too_large();
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return httpErrors.unsupported_media_type();
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return httpErrors.invalid_request('The body length does not match the Content-Length header.');
    case 'FST_ERR_BAD_URL':
      return httpErrors.invalid_request('The URL is not valid percent-encoded UTF-8.');
    default:
  }
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) return httpErrors.invalid_request();
  if (error instanceof OutcomeUnknown) return httpErrors.outcome_unknown(undefined, retryAfter(error));
  if (error instanceof TryAgain) return httpErrors.unavailable(undefined, retryAfter(error));
  if (error instanceof NoPlace) {
    const refuse = error.isOwnShare ? httpErrors.rate_limited : httpErrors.unavailable;
    return refuse(error.message, retryAfter(error));
  }
  if (isUnavailable(error)) return httpErrors.unavailable(undefined, retryAfter({ retryAfterSeconds: 1 }));
  return httpErrors.internal_error();
}

function retryAfter({ retryAfterSeconds }: { readonly retryAfterSeconds: number }): ProblemExtras {
  return { headers: { 'Retry-After': String(retryAfterSeconds) } };
}
