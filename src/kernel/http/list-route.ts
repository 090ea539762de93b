import type { z } from 'zod';
import { fromTypeId } from '../ids/typeid.ts';
import { type Caller, defineRoute, ok, type Route } from './define-route.ts';
import { type Page, page, pageQuery, toPage } from './paging.ts';

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
  const { id, path, tag, summary, description, returns = 'Newest first' } = spec;
  const query = pageQuery.extend({ ...filters, ...(cursorPrefix !== undefined && { cursor: idCursor(cursorPrefix) }) });
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
