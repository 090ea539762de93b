import type { z } from 'zod';
import { describeIssue } from '../../src/kernel/http/describe-issue.ts';

/** Supported UCP versions. The newest is at the usual path and links to the previous one. */
export const newest = '2026-08-25';
export const before = '2026-04-08';
export type UcpVersion = typeof newest | typeof before;

export const searchCapability = 'dev.ucp.shopping.catalog.search';
export const lookupCapability = 'dev.ucp.shopping.catalog.lookup';
export const checkoutCapability = 'dev.ucp.shopping.checkout';
export const fulfillmentCapability = 'dev.ucp.shopping.fulfillment';

/** The version and the rest of a path below `/ucp/`. */
export function readUcpPath(pathname: string): { readonly version: UcpVersion; readonly rest: string } | undefined {
  const [, version, rest = ''] = /^\/ucp\/([^/]+)(\/.*)$/.exec(pathname) ?? [];
  return version === newest || version === before ? { version, rest } : undefined;
}

export type Fields = Readonly<Record<string, unknown>>;

/** Reads untrusted JSON as an object. */
export const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {};

/** Parses the value, or throws the given error for the first issue. */
export function readAs<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  toError: (path: string, why: string) => Error,
): z.output<Schema> {
  const parsed = schema.safeParse(value, { error: describeIssue });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw toError(issue?.path.join('.') ?? '', issue?.message ?? 'cannot be read');
}
