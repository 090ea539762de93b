/** One thing wrong with a request: where, and what. */
export interface FieldError {
  readonly path: string;
  readonly message: string;
}

export interface ProblemExtras {
  readonly errors?: readonly FieldError[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Further members of the body, such as the price that is asked now. */
  readonly members?: Readonly<Record<string, unknown>>;
}

/** A refusal that the caller is told about, as application/problem+json (RFC 9457). */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly code: string;
  readonly status: number;
  readonly title: string;
  readonly extras: ProblemExtras;

  constructor(kind: { code: string; status: number; title: string }, detail: string, extras: ProblemExtras = {}) {
    super(detail);
    this.code = kind.code;
    this.status = kind.status;
    this.title = kind.title;
    this.extras = extras;
  }
}

/** A kind of problem, declared once by the feature that raises it. Call it to make one. */
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
  /** What a developer reads at night: what happened and what to do about it. */
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
