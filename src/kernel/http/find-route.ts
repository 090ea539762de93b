import { z } from 'zod';
import { type Caller, defineRoute, ok, type Route } from './define-route.ts';
import type { ErrorKind } from './problem.ts';

interface FindSpec<Item extends z.ZodType> {
  readonly id: string;
  /** Ends in the one parameter, which is a member of the item: `/invoices/:id`. */
  readonly path: `/${string}/:${string}`;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** Of the response. */
  readonly returns: string;
  /** The values of `status` that do not change by themselves any more. */
  readonly final?: readonly string[];
  readonly item: Item;
  readonly example: z.input<Item>;
  /** An id of at most 64 characters, unless this says otherwise. */
  readonly parameter?: z.ZodType<string, string>;
  readonly notFound: ErrorKind;
  /** Undefined, or `notFound` thrown, where the caller has no such item. */
  readonly find: (id: string, caller: Caller) => Promise<z.input<Item> | undefined>;
}

export const idParameter = z.string().max(64);

/** Declares the look-up of one of the caller's own items by its id. */
export function findRoute<Item extends z.ZodType>(spec: FindSpec<Item>): Route {
  const {
    id,
    path,
    tag,
    summary,
    description,
    returns,
    final,
    item,
    example,
    parameter = idParameter,
    notFound,
    find,
  } = spec;
  const name = path.slice(path.lastIndexOf(':') + 1);
  return defineRoute(
    {
      id,
      method: 'GET',
      path,
      tag,
      summary,
      ...(description !== undefined && { description }),
      auth: 'key',
      scope: 'read',
      params: z.strictObject({ [name]: parameter }),
      examples: { params: { [name]: (example as Record<string, string>)[name] as string } },
      returns: { 200: { description: returns, schema: item, example } },
      ...(final !== undefined && { final }),
      errors: [notFound],
    },
    async ({ caller, params }) => {
      const found = await find(params[name] as string, caller);
      if (found === undefined) throw notFound();
      return ok(found);
    },
  );
}

/** Another account's item is answered like one that does not exist. */
export function ownedBy<Item extends { readonly accountId: bigint | null }>(
  { accountId }: Caller,
  item: Item | undefined,
): Item | undefined {
  return item?.accountId === accountId ? item : undefined;
}
