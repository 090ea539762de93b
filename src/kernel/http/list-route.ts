import { z } from 'zod';
import { fromTypeId } from '../ids/typeid.ts';
import { type Caller, defineRoute, ok, type Route } from './define-route.ts';
import type { Tool } from './tool.ts';

const limitRange = 'must be a whole number from 1 to 100';

/** A cursor is the last item of a page, so new items shift nothing. */
export const pageQuery = z.strictObject({
  limit: z
    .string()
    .regex(/^\d{1,3}$/, limitRange)
    .transform(Number)
    .refine((value) => value >= 1 && value <= 100, limitRange)
    .default(50)
    .meta({ description: 'Items per page, 1 to 100. The default is 50.' }),
  cursor: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .meta({ description: 'The `nextCursor` of the previous page. Omit it for the first page.' }),
});

interface Page<Row> {
  readonly items: readonly Row[];
  readonly nextCursor: string | null;
}

export function page<Name extends string, Item extends z.ZodType>(name: Name, item: Item) {
  return z.object({
    [name]: z.array(item),
    nextCursor: z.string().nullable().meta({ description: 'Null on the last page.' }),
  } as { [Key in Name]: z.ZodArray<Item> } & { nextCursor: z.ZodNullable<z.ZodString> });
}

/** Queries read one row more than the page holds: that row tells whether there is a next page. */
export function toPage<Row>(rows: readonly Row[], limit: number, cursorOf: (row: Row) => string): Page<Row> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items, nextCursor: rows.length > limit && last !== undefined ? cursorOf(last) : null };
}

interface PageRequest {
  readonly caller: Caller;
  readonly accountId: bigint;
  readonly limit: number;
  readonly cursor: string | undefined;
}

interface ListSpec<Item extends z.ZodType, Filters extends z.ZodRawShape, Row> {
  readonly id: string;
  readonly path: `/${string}`;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly tool?: Tool;
  /** Describes the response. */
  readonly returns?: string;
  /** The member of the response that holds the items. */
  readonly name: string;
  readonly item: Item;
  readonly example: z.input<Item>;
  readonly filters?: Filters;
  readonly exampleQuery?: Readonly<Record<string, string>>;
  /** With it, the list refuses a cursor that is not an id of this kind. */
  readonly cursorPrefix?: string;
  /** Reads up to `limit + 1` rows, newest first: the extra row tells that there is a next page. Or returns the page itself. */
  readonly rows: (request: PageRequest & z.output<z.ZodObject<Filters>>) => Promise<readonly Row[] | Page<Row>>;
  /** The id of the row by default. */
  readonly cursorOf?: (row: Row) => string;
  readonly describe: (row: Row, caller: Caller) => z.input<Item>;
}

/** Declares a list of the caller's own items, one page at a time. */
export function listRoute<Item extends z.ZodType, Row, Filters extends z.ZodRawShape = Record<never, never>>(
  spec: ListSpec<Item, Filters, Row>,
): Route {
  const { name, item, example, filters, exampleQuery, cursorPrefix, rows, cursorOf = idOf, describe } = spec;
  const { id, path, tag, summary, description, tool, returns = 'Newest first' } = spec;
  const query = pageQuery.extend({ ...filters, ...(cursorPrefix !== undefined && { cursor: idCursor(cursorPrefix) }) });
  return defineRoute(
    {
      id,
      method: 'GET',
      path,
      tag,
      summary,
      ...(description !== undefined && { description }),
      ...(tool !== undefined && { tool }),
      auth: 'key',
      scope: 'read',
      query: query as unknown as z.ZodType<
        PageRequest & z.output<z.ZodObject<Filters>>,
        Readonly<Record<string, string>>
      >,
      ...(exampleQuery !== undefined && { examples: { query: exampleQuery } }),
      returns: {
        200: {
          description: returns,
          schema: page(name, item),
          example: { [name]: [example], nextCursor: null },
        },
      },
    },
    async ({ caller, query: asked }) => {
      const found = await rows({ ...asked, caller, accountId: caller.accountId });
      const { items, nextCursor } = 'items' in found ? found : toPage(found, asked.limit, cursorOf);
      return ok({ [name]: items.map((row) => describe(row, caller)), nextCursor } as never);
    },
  );
}

function idOf(row: unknown): string {
  return (row as { readonly id: string }).id;
}

function idCursor(prefix: string) {
  return pageQuery.shape.cursor.refine(
    (text) => text === undefined || fromTypeId(prefix, text) !== undefined,
    'must be the nextCursor of the previous page',
  );
}
