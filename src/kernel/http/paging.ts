import { z } from 'zod';

/** Lists come newest first, a page at a time. A cursor is where the last page ended, so new items shift nothing. */
export const pageQuery = z.strictObject({
  limit: z
    .string()
    .regex(/^\d{1,3}$/, 'must be a whole number from 1 to 100')
    .transform(Number)
    .refine((value) => value >= 1 && value <= 100, 'must be a whole number from 1 to 100')
    .default(50)
    .meta({ description: 'Items on a page, 1 to 100; 50 when left out.' }),
  cursor: z.string().min(1).max(200).optional().meta({ description: 'The `nextCursor` of the page before.' }),
});

export function page<Name extends string, Item extends z.ZodType>(name: Name, item: Item) {
  return z.object({
    [name]: z.array(item),
    nextCursor: z.string().nullable().meta({ description: 'Null on the last page.' }),
  } as { [Key in Name]: z.ZodArray<Item> } & { nextCursor: z.ZodNullable<z.ZodString> });
}

/** Queries ask for one row more than the page holds: that row tells whether there is a next page. */
export function toPage<Row>(rows: readonly Row[], limit: number, cursorOf: (row: Row) => string) {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items, nextCursor: rows.length > limit && last !== undefined ? cursorOf(last) : null };
}
