import type { z } from 'zod';
import { plainIssue } from '../../src/kernel/http/plain-issue.ts';

/** The value as the schema reads it, or the first thing that is wrong with it, told as the given error. */
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
