import { PaywrightError } from '#sdk';
import { plain, toJson } from './show.ts';

/** What the shell learns. docs/cli.md lists them. */
export const exitCodes = { ok: 0, error: 1, usage: 2, notSignedIn: 3, refused: 4 } as const;

type Failure = Exclude<keyof typeof exitCodes, 'ok'>;

/** What went wrong, in the form of the service's problems. */
export interface Problem {
  readonly code: string;
  readonly detail: string;
  readonly [member: string]: unknown;
}

/** Ends the command. The message is for people, the problem for programs. */
export class CliError extends Error {
  readonly failure: Failure;
  readonly problem: Problem;

  constructor(failure: Failure, problem: Problem, message = problem.detail) {
    super(message);
    this.failure = failure;
    this.problem = problem;
  }
}

export function usage(detail: string): CliError {
  return new CliError('usage', { code: 'usage', detail });
}

/** Every error becomes one that ends the command with the right exit code. */
export function asCliError(error: unknown): CliError {
  if (error instanceof CliError) return error;
  if (error instanceof PaywrightError) return new CliError(failureOf(error), problemOf(error), explain(error));
  if (error instanceof TypeError) return usage(error.message);
  const { code, path } = error as NodeJS.ErrnoException;
  if (code !== undefined && path !== undefined) {
    return new CliError('error', { code: 'file', detail: `${path} cannot be used: ${(error as Error).message}` });
  }
  return new CliError('error', { code: 'unexpected', detail: error instanceof Error ? error.message : String(error) });
}

function failureOf({ status, code }: PaywrightError): Failure {
  if (status === 401) return 'notSignedIn';
  const isRefusal = status >= 400 && status < 500 && status !== 429 && code !== 'unexpected_response';
  return isRefusal ? 'refused' : 'error';
}

function problemOf(error: PaywrightError): Problem {
  const { code, status, requestId, idempotencyKey, message } = error;
  return {
    ...(status > 0 && { status }),
    ...error,
    code,
    detail: message,
    ...(requestId !== undefined && { requestId }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  };
}

function explain(error: PaywrightError): string {
  const { code, status, message } = error;
  if (status === 401) return `${message}\nSign in with: paywright login`;
  if (code === 'possible_duplicate') {
    const { id } = (error['duplicateOf'] ?? {}) as { readonly id?: string };
    return `${message}\nTo pay once more on purpose, run the command again with --not-duplicate-of ${id ?? 'ID'}`;
  }
  if (code === 'connection_lost' || code === 'timeout') return `${message}\n${unknownOutcome(error)}`;
  const errors = Array.isArray(error['errors']) ? (error['errors'] as { path?: string; message?: string }[]) : [];
  return [message, ...errors.map((one) => `  ${one.path ?? ''}: ${one.message ?? ''}`)].join('\n');
}

function unknownOutcome({ idempotencyKey }: PaywrightError): string {
  return idempotencyKey === undefined
    ? 'Is the service running, and is PAYWRIGHT_URL or the login right?'
    : `To learn the outcome without paying twice, run the command again with --idempotency-key ${idempotencyKey}`;
}

/** Says what went wrong and ends the process with its exit code. */
export function fail(error: CliError, { json }: { readonly json: boolean }): void {
  const { failure, problem, message } = error;
  // First, because nobody may be there to read the rest.
  process.exitCode = exitCodes[failure];
  process.stderr.write(`${plain(message, { lines: true })}\n`);
  if (json) process.stdout.write(`${toJson(problem)}\n`);
  else if (failure === 'refused') process.stderr.write(`${toJson(problem)}\n`);
}
