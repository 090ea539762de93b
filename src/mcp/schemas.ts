/** JSON Schema, as in the OpenAPI document. */
export type Json = Readonly<Record<string, unknown>>;

export interface ObjectSchema extends Json {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, Json>>;
  readonly required?: readonly string[];
}

/** The API checks its input and says clearly what is wrong, so a model is told only what helps it to choose a value. */
const toldOfInput = ['type', 'enum', 'const', 'description', 'items', 'properties', 'required', 'anyOf'];

/** Texts of third parties stay marked. */
const untrusted = 'x-untrusted';
const toldOfOutput = ['type', 'enum', 'const', 'items', 'properties', 'anyOf', untrusted];

/**
 * Of a result, a model is told the members, and those of the items of a list, because the list of all tools is to be short. An object
 * costs two levels, and an array gives one back.
 */
const levelsOfOutput = 2;

export const inputOf = (schema: Json): Json => keep(schema, toldOfInput, Number.POSITIVE_INFINITY);

/** With the first member that it must have, which tells it from the other results of a tool. */
export function outputOf(schema: Json): Json {
  const branches = schema['anyOf'] as readonly Json[] | undefined;
  if (branches !== undefined) return { anyOf: branches.map(outputOf) };
  const [first] = (schema['required'] as readonly string[] | undefined) ?? [];
  return {
    ...keep(schema, toldOfOutput, levelsOfOutput),
    type: 'object',
    required: first === undefined ? [] : [first],
  };
}

/** As many whole sentences as are short enough, but at least the first one. */
export function shortly(text: string, most: number): string {
  const [first = text, ...others] = text.match(/[^.]+(?:\.(?!\s|$)[^.]*)*\.(?=\s|$)/g) ?? [text];
  let short = first.trim();
  for (const sentence of others) {
    if (short.length + sentence.length > most) break;
    short += ` ${sentence.trim()}`;
  }
  return short;
}

function keep(schema: Json, told: readonly string[], levels: number): Json {
  const kept = Object.entries(schema)
    .filter(([name]) => told.includes(name))
    .map(([name, value]) => {
      if (name === 'description') return [name, shortly(value as string, 0)];
      if (name === 'items') return [name, keep(value as Json, told, levels + 1)];
      if (name === 'anyOf') return [name, (value as Json[]).map((one) => keep(one, told, levels))];
      if (name !== 'properties') return [name, value];
      const properties = Object.entries(value as Record<string, Json>);
      return [name, Object.fromEntries(properties.map(([key, one]) => [key, keep(one, told, levels - 2)]))];
    });
  const { properties, items, anyOf, ...rest } = Object.fromEntries(kept) as Record<string, object>;
  // The values say what type they have.
  if (told === toldOfOutput && rest['enum'] !== undefined) return { enum: rest['enum'] };
  if (levels > 0 || (levels === 0 && items !== undefined)) {
    return orNull({ ...rest, ...(properties && { properties }), ...(items && { items }), ...(anyOf && { anyOf }) });
  }
  return JSON.stringify(schema).includes(untrusted) ? { ...rest, [untrusted]: true } : rest;
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
  const required = new Set(objects.map((object) => JSON.stringify({ required: object.required ?? [] })));
  return { type: 'object', properties, anyOf: [...required].map((text) => JSON.parse(text)) };
}

function either(one: Json, other: Json): Json {
  const choices = (one['anyOf'] as readonly Json[] | undefined) ?? [one];
  const text = JSON.stringify(other);
  if (choices.some((choice) => JSON.stringify(choice) === text)) return one;
  const values = [...valuesOf(one), ...valuesOf(other)];
  if (valuesOf(one).length > 0 && valuesOf(other).length > 0) return { enum: [...new Set(values)] };
  return { anyOf: [...choices, other] };
}

function valuesOf({ enum: values, const: value }: Json): readonly unknown[] {
  return (values as readonly unknown[] | undefined) ?? (value === undefined ? [] : [value]);
}
