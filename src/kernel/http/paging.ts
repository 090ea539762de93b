import { z } from 'zod';

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

export interface Page<Row> {
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
