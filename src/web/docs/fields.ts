import { type Html, html, prose, separated } from '../html.ts';
import { alternatives, type JsonSchema, type Resolve, typeInWords } from './schema.ts';

const formatNames: Readonly<Record<string, string>> = {
  'date-time': 'date and time, ISO 8601',
  date: 'date, ISO 8601',
  email: 'email address',
  uri: 'URL',
  uuid: 'UUID',
};

export function constraintsOf(schema: JsonSchema, resolve: Resolve): Html[] {
  const resolved = resolve(schema);
  const { options } = alternatives(resolved, resolve);
  return [
    ...options.flatMap((option) => valueConstraints(option, resolve)),
    ...(resolved.default === undefined ? [] : [html`default ${literal(resolved.default)}`]),
  ];
}

function valueConstraints(schema: JsonSchema, resolve: Resolve): Html[] {
  const phrases = [
    schema.const !== undefined && html`always ${literal(schema.const)}`,
    schema.enum !== undefined && html`one of ${listed(schema.enum)}`,
    schema.format !== undefined && html`${formatNames[schema.format] ?? schema.format}`,
    count(schema.minLength, schema.maxLength, 'character'),
    count(schema.minItems, schema.maxItems, 'item'),
    range(schema),
    schema.multipleOf !== undefined && html`in steps of ${literal(schema.multipleOf)}`,
    // The name of a format is easier to read than its pattern.
    schema.pattern !== undefined && schema.format === undefined && html`matches <code>${schema.pattern}</code>`,
    schema['x-untrusted'] === true && html`<a href="#untrusted">written by others</a>`,
  ].filter((phrase): phrase is Html => phrase !== false);
  const ofItems =
    schema.items === undefined || isObject(schema.items, resolve) ? [] : constraintsOf(schema.items, resolve);
  return [...phrases, ...ofItems.map((phrase) => html`each ${phrase}`)];
}

function isObject(schema: JsonSchema, resolve: Resolve): boolean {
  return alternatives(resolve(schema), resolve).options.some((option) => option.properties !== undefined);
}

function count(min: number | undefined, max: number | undefined, noun: string): Html | false {
  const nouns = (size: number) => (size === 1 ? noun : `${noun}s`);
  if (min === undefined && max === undefined) return false;
  if (max === undefined) return html`at least ${min} ${nouns(min ?? 0)}`;
  if (min === undefined || min === 0) return html`at most ${max} ${nouns(max)}`;
  return min === max ? html`exactly ${min} ${nouns(min)}` : html`${min} to ${max} ${nouns(max)}`;
}

/** Bounds at the limits of a JavaScript number are not part of the interface. */
function meaningful(bound: number | undefined): number | undefined {
  return bound === undefined || Math.abs(bound) >= Number.MAX_SAFE_INTEGER ? undefined : bound;
}

function range(schema: JsonSchema): Html | false {
  const min = meaningful(schema.minimum);
  const max = meaningful(schema.maximum);
  const above = meaningful(schema.exclusiveMinimum);
  const below = meaningful(schema.exclusiveMaximum);
  if (min !== undefined && max !== undefined) return html`${min} to ${max}`;
  const phrases = [
    min !== undefined && `at least ${min}`,
    above !== undefined && `more than ${above}`,
    max !== undefined && `at most ${max}`,
    below !== undefined && `less than ${below}`,
  ].filter((phrase) => phrase !== false);
  return phrases.length > 0 && html`${phrases.join(', ')}`;
}

function literal(value: unknown): Html {
  return html`<code>${typeof value === 'string' ? value : JSON.stringify(value)}</code>`;
}

function listed(values: readonly unknown[]): Html {
  return html`${values.map((value, index) => html`${index > 0 && ', '}${literal(value)}`)}`;
}

/** Requests mark required fields, answers mark optional ones. */
type Direction = 'request' | 'answer';

interface FieldOptions {
  readonly resolve: Resolve;
  readonly direction: Direction;
}

/** Ends the rendering of recursive schemas. */
const deepest = 5;

/** The fields of an object and of the objects in it; undefined if there are none. */
export function fieldList(schema: JsonSchema, options: FieldOptions, depth = 0): Html | undefined {
  const shapes = depth < deepest ? objectShapes(schema, options.resolve) : [];
  if (shapes.length === 0) return undefined;
  if (shapes.length === 1) return html`<dl class="fields">${shapes.map((shape) => rows(shape, options, depth))}</dl>`;
  return html`${shapes.map(
    (shape, index) =>
      html`<p class="either">${index === 0 ? 'Either' : 'or'}</p><dl class="fields">${rows(shape, options, depth)}</dl>`,
  )}`;
}

function rows(shape: JsonSchema, options: FieldOptions, depth: number): Html[] {
  return Object.entries(shape.properties ?? {}).map(([name, property]) => {
    const required = shape.required?.includes(name) ?? false;
    return fieldRow({ name, schema: property, required, children: fieldList(property, options, depth + 1) }, options);
  });
}

export interface Field {
  readonly name: string;
  readonly schema: JsonSchema;
  readonly required: boolean;
  readonly description?: string | undefined;
  readonly children?: Html | undefined;
}

export function fieldRow(field: Field, { resolve, direction }: FieldOptions): Html {
  const schema = resolve(field.schema);
  const description = field.description ?? schema.description ?? inheritedDescription(schema, resolve);
  const nature = [html`${typeInWords(schema, resolve)}`, ...constraintsOf(schema, resolve)];
  return html`<div class="field">
<dt><code class="name">${field.name}</code> <span class="type">${separated(nature)}</span> ${presence(field.required, direction)}</dt>
<dd>${description !== undefined && html`<p>${prose(description)}</p>`}${
    field.children !== undefined && html`<div class="children">${field.children}</div>`
  }</dd>
</div>`;
}

/** A nullable field has its description on the non-null alternative. */
function inheritedDescription(schema: JsonSchema, resolve: Resolve): string | undefined {
  const { options } = alternatives(schema, resolve);
  return options.length === 1 ? options[0]?.description : undefined;
}

function presence(required: boolean, direction: Direction): Html | undefined {
  if (direction === 'request' && required) return html`<span class="required">required</span>`;
  if (direction === 'answer' && !required) return html`<span class="optional">may be absent</span>`;
  return undefined;
}

/** The object schemas of a value: itself, its alternatives, or the items of a list. */
function objectShapes(schema: JsonSchema, resolve: Resolve): JsonSchema[] {
  return alternatives(resolve(schema), resolve).options.flatMap((option) => {
    if (option.items !== undefined) return objectShapes(option.items, resolve);
    const merged = option.allOf === undefined ? option : mergeAll(option, resolve);
    if (merged.properties !== undefined && Object.keys(merged.properties).length > 0) return [merged];
    return typeof merged.additionalProperties === 'object' ? objectShapes(merged.additionalProperties, resolve) : [];
  });
}

function mergeAll({ allOf = [], ...own }: JsonSchema, resolve: Resolve): JsonSchema {
  const parts = [...allOf.map(resolve), own];
  return {
    ...own,
    properties: Object.assign({}, ...parts.map((part) => part.properties)),
    required: parts.flatMap((part) => part.required ?? []),
  };
}
