import type { z } from 'zod';
import { compiled } from './compiled.ts';
import { describeIssue } from './describe-issue.ts';
import { httpErrors } from './errors.ts';
import type { FieldError, Problem } from './problem.ts';

type Part = 'body' | 'query' | 'params';

const mostErrors = 20;
const longestText = 200;

/** One for every parse. */
const inOurWords = { error: describeIssue };

export function validate(part: Part, schema: z.ZodType | undefined, value: unknown): unknown {
  if (schema === undefined) return part === 'body' ? refuseUnasked(value) : undefined;
  const result = compiled(schema).safeParse(value, inOurWords);
  if (result.success) return result.data;
  throw invalid(part, value, result.error.issues);
}

/** Some clients always send an empty object. */
function refuseUnasked(body: unknown): undefined {
  const empty = typeof body === 'object' && body !== null && !Array.isArray(body) && Object.keys(body).length === 0;
  if (body === undefined || empty) return undefined;
  throw httpErrors.invalid_request('This operation takes no request body. Send none.');
}

function invalid(part: Part, value: unknown, issues: readonly z.core.$ZodIssue[]): Problem {
  if (part === 'body' && value === undefined) {
    return httpErrors.invalid_request(
      'This operation requires a JSON body. Send one with the header "Content-Type: application/json".',
    );
  }
  const errors = issues.flatMap((issue) => toFieldErrors(value, issue)).slice(0, mostErrors);
  const [first] = errors;
  const detail = first === undefined ? undefined : `${first.path || `The ${part}`} ${first.message}.`;
  return httpErrors.invalid_request(detail, { errors });
}

function toFieldErrors(value: unknown, issue: z.core.$ZodIssue): FieldError[] {
  const at = (path: readonly PropertyKey[]) => short(path.map(String).join('.'));
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ path: at([...issue.path, key]), message: 'is not a field of this operation' }));
  }
  if (issue.code !== 'custom' && valueAt(value, issue.path) === undefined) {
    return [{ path: at(issue.path), message: 'is required' }];
  }
  const meant = issue.code === 'invalid_union' ? meantOption(issue) : undefined;
  if (meant !== undefined) {
    return meant.flatMap((inner) => toFieldErrors(value, { ...inner, path: [...issue.path, ...inner.path] }));
  }
  return [{ path: at(issue.path), message: short(issue.message) }];
}

/** If an object matches one option of a union except for an inner field, the error names that field. */
function meantOption({ errors }: z.core.$ZodIssueInvalidUnion): readonly z.core.$ZodIssue[] | undefined {
  const near = errors.filter((issues) =>
    issues.every((issue) => issue.code !== 'invalid_type' || issue.path.length > 0),
  );
  return near.length === 1 ? near[0] : undefined;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce((inner, key) => (inner as Record<PropertyKey, unknown> | null | undefined)?.[key], value);
}

function short(text: string): string {
  return text.length > longestText ? `${text.slice(0, longestText)}…` : text;
}
