/** The subset of JSON Schema that the API's declarations produce. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly multipleOf?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  /** Written by a third party. */
  readonly 'x-untrusted'?: boolean;
}

/** Follows a `$ref`; an unknown one is dropped. */
export type Resolve = (schema: JsonSchema) => JsonSchema;

export function resolveWithin(...roots: readonly unknown[]): Resolve {
  return (schema) => {
    if (schema.$ref === undefined) return schema;
    const path = schema.$ref.replace(/^#\/?/, '').split('/').filter(Boolean);
    for (const root of roots) {
      const found = path.reduce<unknown>((node, step) => (node as Record<string, unknown> | undefined)?.[step], root);
      if (found !== undefined) return { ...(found as JsonSchema), ...withoutRef(schema) };
    }
    return withoutRef(schema);
  };
}

function withoutRef({ $ref: _pointer, ...rest }: JsonSchema): JsonSchema {
  return rest;
}

/** The alternatives of a schema without null, and whether null is one of them. */
export function alternatives(schema: JsonSchema, resolve: Resolve): { options: JsonSchema[]; nullable: boolean } {
  const listed = schema.anyOf ?? schema.oneOf;
  if (listed === undefined) {
    const types = Array.isArray(schema.type) ? (schema.type as string[]) : undefined;
    if (types === undefined) return { options: [schema], nullable: schema.type === 'null' };
    const kept = types.filter((type) => type !== 'null');
    return { options: kept.map((type) => ({ ...schema, type })), nullable: kept.length < types.length };
  }
  const inner = listed.map((option) => alternatives(resolve(option), resolve));
  return {
    options: inner.flatMap(({ options }) => options).filter((option) => option.type !== 'null'),
    nullable: inner.some(({ nullable }) => nullable),
  };
}

/** For example "string or null" or "array of objects". */
export function typeInWords(schema: JsonSchema, resolve: Resolve): string {
  const { options, nullable } = alternatives(resolve(schema), resolve);
  const words = [...new Set(options.map((option) => oneTypeInWords(option, resolve)))];
  return [...words.filter((word) => word !== 'null'), ...(nullable ? ['null'] : [])].join(' or ') || 'anything';
}

function oneTypeInWords(schema: JsonSchema, resolve: Resolve): string {
  if (schema.type === 'array') return `array of ${plural(schema.items, resolve)}`;
  if (schema.properties === undefined && typeof schema.additionalProperties === 'object')
    return `map from string to ${typeInWords(schema.additionalProperties, resolve)}`;
  if (typeof schema.type === 'string') return schema.type;
  if (schema.properties !== undefined || schema.allOf !== undefined) return 'object';
  const sample = schema.const ?? schema.enum?.[0];
  return sample === undefined ? 'anything' : typeof sample;
}

function plural(schema: JsonSchema | undefined, resolve: Resolve): string {
  const type = schema === undefined ? 'anything' : typeInWords(schema, resolve);
  if (type.includes(' or ')) return `(${type})`;
  return /^(string|number|integer|boolean|object)$/.test(type) ? `${type}s` : type;
}
