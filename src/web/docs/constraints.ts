import { type Html, html } from '../html.ts';
import { alternatives, type JsonSchema, type Resolve } from './schema.ts';

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
