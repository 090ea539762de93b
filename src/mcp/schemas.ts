/** JSON Schema, as in the OpenAPI document. */
export type Json = Readonly<Record<string, unknown>>;

export interface ObjectSchema extends Json {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, Json>>;
  readonly required?: readonly string[];
}

/** The API checks its input and says clearly what is wrong, so a model is told only what helps it to choose a value. */
const toldOfInput = new Set(['type', 'enum', 'const', 'description', 'items', 'properties', 'required', 'anyOf']);

/** Texts of third parties stay marked. */
const toldOfOutput = new Set(['type', 'enum', 'const', 'items', 'properties', 'required', 'anyOf', 'x-untrusted']);

export const inputOf = (schema: Json): Json => keep(schema, toldOfInput);
export const outputOf = (schema: Json): Json => keep(schema, toldOfOutput);

function keep(schema: Json, told: ReadonlySet<string>): Json {
  const kept = Object.entries(schema)
    .filter(([name]) => told.has(name))
    .map(([name, value]) => {
      if (name === 'items') return [name, keep(value as Json, told)];
      if (name === 'anyOf') return [name, (value as Json[]).map((one) => keep(one, told))];
      if (name !== 'properties') return [name, value];
      const properties = Object.entries(value as Record<string, Json>).map(([key, one]) => [key, keep(one, told)]);
      return [name, Object.fromEntries(properties)];
    });
  return orNull(Object.fromEntries(kept) as Json);
}

/** `anyOf` of a plain type and null, shorter. */
function orNull(schema: Json): Json {
  const { anyOf, ...rest } = schema as { readonly anyOf?: readonly Json[] };
  if (anyOf?.length !== 2 || anyOf[1]?.['type'] !== 'null') return schema;
  const [one] = anyOf as [Json, Json];
  return typeof one['type'] === 'string' && one['enum'] === undefined && one['const'] === undefined
    ? { ...rest, ...one, type: [one['type'], 'null'] }
    : schema;
}

/**
 * One object that admits each of these: clients of older protocols accept nothing else as the schema of a result. Which of them a
 * result is shows in the members that it has.
 */
export function eitherOf(schemas: readonly Json[]): ObjectSchema {
  const objects = schemas.flatMap((schema) => (schema['anyOf'] as ObjectSchema[]) ?? [schema as ObjectSchema]);
  const properties: Record<string, Json> = {};
  for (const object of objects) {
    for (const [name, schema] of Object.entries(object.properties ?? {})) {
      const before = properties[name];
      properties[name] = before === undefined ? schema : either(before, schema);
    }
  }
  const required = objects.map((object) => object.required ?? []);
  return { type: 'object', properties, anyOf: required.map((names) => ({ required: names })) };
}

function either(one: Json, other: Json): Json {
  const choices = (one['anyOf'] as readonly Json[] | undefined) ?? [one];
  const text = JSON.stringify(other);
  if (choices.some((choice) => JSON.stringify(choice) === text)) return one;
  const values = [...valuesOf(one), ...valuesOf(other)];
  if (valuesOf(one).length > 0 && valuesOf(other).length > 0) return { type: 'string', enum: [...new Set(values)] };
  return { anyOf: [...choices, other] };
}

function valuesOf({ type, enum: values, const: value }: Json): readonly unknown[] {
  if (type !== 'string') return [];
  return (values as readonly unknown[] | undefined) ?? (value === undefined ? [] : [value]);
}
