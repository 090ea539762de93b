import { z } from 'zod';

/**
 * The value without its fields that are null: many clients write every field that they know and null for what they leave out, and nothing
 * else can be meant by it. A null that the schema takes has a meaning and stays, and so does all that a schema leaves open, such as
 * what is passed on to somebody else. Not for PATCH, where null clears a field.
 */
export function withoutNulls(schema: z.core.$ZodType | undefined, value: unknown): unknown {
  return value === null && !takesNull(schema) ? undefined : clean(schema, value);
}

function takesNull(schema: z.core.$ZodType | undefined): boolean {
  return schema !== undefined && z.safeParse(schema, null).success;
}

function clean(schema: z.core.$ZodType | undefined, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const shape = shapeOf(schema);
  if (Array.isArray(value)) {
    return shape instanceof z.ZodArray ? value.map((item) => clean(shape.element, item)) : value;
  }
  if (!(shape instanceof z.ZodObject)) return value;
  const fields = new Map<string, z.core.$ZodType>(Object.entries(shape.shape));
  const kept = Object.entries(value).flatMap(([name, inner]) => {
    const field = fields.get(name);
    if (inner === null && field !== undefined && !takesNull(field)) return [];
    return [[name, clean(field, inner)]];
  });
  return Object.fromEntries(kept);
}

/** The object or the list that a schema is about. One of several objects is a guess, so it is left alone. */
function shapeOf(schema: z.core.$ZodType | undefined): z.core.$ZodType | undefined {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodNullable) {
    return shapeOf(schema.unwrap());
  }
  if (schema instanceof z.ZodPipe) return shapeOf(schema.in);
  if (!(schema instanceof z.ZodUnion)) return schema;
  const objects = schema.options.map(shapeOf).filter((option) => option instanceof z.ZodObject);
  return objects.length === 1 ? objects[0] : undefined;
}
