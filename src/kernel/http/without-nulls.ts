import { z } from 'zod';

/**
 * Drops null fields, because many clients send null for a field that they leave out. A null that the schema accepts
 * stays, and so does everything that the schema leaves open, such as data passed on to a third party. Not for PATCH,
 * where null clears a field, nor for PUT: what it leaves out is removed, and a null may be a calculation gone wrong.
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

/** The object or array schema inside wrappers. A union of several objects is ambiguous, so its value stays as it is. */
function shapeOf(schema: z.core.$ZodType | undefined): z.core.$ZodType | undefined {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodNullable) {
    return shapeOf(schema.unwrap());
  }
  if (schema instanceof z.ZodPipe) return shapeOf(schema.in);
  if (!(schema instanceof z.ZodUnion)) return schema;
  const objects = schema.options.map(shapeOf).filter((option) => option instanceof z.ZodObject);
  return objects.length === 1 ? objects[0] : undefined;
}
