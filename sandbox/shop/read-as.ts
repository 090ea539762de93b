import type { z } from 'zod';
import { plainIssue } from '../../src/kernel/http/plain-issue.ts';

/** Parses the value, or throws the given error for the first issue. */
export function readAs<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  toError: (path: string, why: string) => Error,
): z.output<Schema> {
  const parsed = schema.safeParse(value, { error: plainIssue });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw toError(issue?.path.join('.') ?? '', issue?.message ?? 'cannot be read');
}
