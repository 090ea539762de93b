import type { z } from 'zod';
import { httpErrors } from './errors.ts';
import type { FieldError, Problem } from './problem.ts';

type Part = 'body' | 'query' | 'params';

const mostErrors = 20;
const longestText = 200;

/** Checks one part of a request against its schema; what comes back has the schema's output type and nothing more. */
export function validate(part: Part, schema: z.ZodType | undefined, value: unknown): unknown {
  if (schema === undefined) return part === 'body' ? refuseUnasked(value) : undefined;
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw invalid(part, value, result.error.issues);
}

/** An operation without a body takes none, or the empty object that some clients always send. */
function refuseUnasked(body: unknown): undefined {
  const empty = typeof body === 'object' && body !== null && !Array.isArray(body) && Object.keys(body).length === 0;
  if (body === undefined || empty) return undefined;
  throw httpErrors.invalid_request('This operation takes no body.');
}

function invalid(part: Part, value: unknown, issues: readonly z.core.$ZodIssue[]): Problem {
  if (part === 'body' && value === undefined) {
    return httpErrors.invalid_request('This operation needs a JSON body; send "Content-Type: application/json".');
  }
  const errors = issues.flatMap(toFieldErrors).slice(0, mostErrors);
  const [first] = errors;
  const detail = first === undefined ? undefined : `${first.path || `The ${part}`} ${first.message}.`;
  return httpErrors.invalid_request(detail, { errors });
}

function toFieldErrors(issue: z.core.$ZodIssue): FieldError[] {
  const path = short(issue.path.join('.'));
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      path: short([...issue.path, key].join('.')),
      message: 'is not a field of this operation',
    }));
  }
  return [{ path, message: short(plainMessage(issue)) }];
}

function plainMessage(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') {
    if (issue.message.endsWith('received undefined')) return 'is required';
    return `must be ${article(issue.expected)}`;
  }
  return issue.message.replace(/^Invalid input: expected/, 'must be').replace(/^Invalid option: expected/, 'must be');
}

function article(type: string): string {
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

function short(text: string): string {
  return text.length > longestText ? `${text.slice(0, longestText)}…` : text;
}
