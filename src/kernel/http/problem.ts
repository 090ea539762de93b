export interface FieldError {
  readonly path: string;
  readonly message: string;
}

export interface ProblemExtras {
  readonly errors?: readonly FieldError[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Further members of the body, such as the current price. */
  readonly members?: Readonly<Record<string, unknown>>;
}

/** An error response, sent as application/problem+json (RFC 9457). */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly code: string;
  readonly status: number;
  readonly title: string;
  readonly extras: ProblemExtras;
  /** Called when a client is answered with it, which an idempotent replay or a simulation is not. */
  whenSent?: () => void;

  constructor(kind: { code: string; status: number; title: string }, detail: string, extras: ProblemExtras = {}) {
    super(detail);
    this.code = kind.code;
    this.status = kind.status;
    this.title = kind.title;
    this.extras = extras;
  }
}

/** A kind of problem, declared once by its feature. Call it to create a problem. */
export interface ErrorKind {
  (detail?: string, extras?: ProblemExtras): Problem;
  readonly code: string;
  readonly status: number;
  readonly title: string;
  readonly detail: string;
}

interface ErrorSpec {
  readonly status: number;
  readonly title: string;
  /** What happened, why, and what to do. */
  readonly detail: string;
}

/** Declares a feature's errors. The key is the stable `code` that clients branch on. */
export function defineErrors<Code extends string>(specs: Record<Code, ErrorSpec>): Record<Code, ErrorKind> {
  const kinds = Object.entries<ErrorSpec>(specs).map(([code, spec]) => {
    const make = (detail = spec.detail, extras: ProblemExtras = {}) => new Problem({ code, ...spec }, detail, extras);
    return [code, Object.assign(make, { code, ...spec })];
  });
  return Object.fromEntries(kinds) as Record<Code, ErrorKind>;
}

/**
 * Asks now what is needed later. The answer is a function that returns the result, or throws what `ask` has thrown: a request
 * asks before its transaction, and is refused inside it, after the place where an idempotent replay gets its stored response.
 */
export async function askBefore<Result>(ask: () => Promise<Result>): Promise<() => Result> {
  try {
    const result = await ask();
    return () => result;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}
