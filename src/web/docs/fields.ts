import { type Html, html, prose, separated } from '../html.ts';
import { constraintsOf } from './constraints.ts';
import { alternatives, type JsonSchema, type Resolve, typeInWords } from './schema.ts';

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
