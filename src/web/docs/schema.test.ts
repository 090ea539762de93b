import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { constraintsOf, fieldList } from './fields.ts';
import { type JsonSchema, resolveWithin, typeInWords } from './schema.ts';

function toJson(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
}

function inWords(schema: z.ZodType): string {
  const json = toJson(schema);
  const resolve = resolveWithin(json);
  const constraints = constraintsOf(json, resolve).map((phrase) => String(phrase).replace(/<[^>]*>/g, ''));
  return [typeInWords(json, resolve), ...constraints].join(', ');
}

describe('a declared type, in words', () => {
  it.each([
    [z.string(), 'string'],
    [z.string().min(8).max(1024), 'string, 8 to 1024 characters'],
    [z.string().max(1), 'string, at most 1 character'],
    [z.string().length(6), 'string, exactly 6 characters'],
    [z.string().regex(/^\d{6}$/), 'string, matches ^\\d{6}$'],
    [z.iso.datetime(), 'string, date and time, ISO 8601'],
    [z.string().nullable(), 'string or null'],
    [z.enum(['USDC', 'EURC']), 'string, one of USDC, EURC'],
    [z.literal(true), 'boolean, always true'],
    [z.int(), 'integer'],
    [z.int().min(1).max(100).default(50), 'integer, 1 to 100, default 50'],
    [z.number().positive(), 'number, more than 0'],
    [z.array(z.string().min(2)).max(5), 'array of strings, at most 5 items, each at least 2 characters'],
    [z.array(z.array(z.object({}))), 'array of array of objects'],
    [z.union([z.string(), z.number()]), 'string or number'],
    [z.array(z.string().nullable()), 'array of (string or null)'],
    [z.record(z.string(), z.string()), 'map from string to string'],
    [z.unknown(), 'anything'],
  ])('%#: %$', (schema, words) => {
    expect(inWords(schema)).toBe(words);
  });
});

describe('the list of fields', () => {
  const list = (schema: z.ZodType) => {
    const json = toJson(schema);
    return String(fieldList(json, { resolve: resolveWithin(json), direction: 'request' }) ?? '');
  };

  it('shows the fields of objects in lists, and both sides of a choice', () => {
    const choice = z.union([z.object({ handle: z.string() }), z.object({ email: z.string() })]);
    const text = list(z.object({ items: z.array(z.object({ sku: z.string() })), to: choice }));
    for (const name of ['items', 'sku', 'to', 'handle', 'email']) expect(text).toContain(`>${name}</code>`);
    expect(text).toContain('Either');
  });

  it('joins what an intersection demands', () => {
    const text = list(z.intersection(z.object({ a: z.string() }), z.object({ b: z.string() })));
    expect(text.match(/required/g)?.length).toBe(4);
  });

  it('ends, even where a schema contains itself', () => {
    const node = z.object({
      name: z.string(),
      get children() {
        return z.array(node);
      },
    });
    expect(list(node).match(/>name</g)?.length).toBe(5);
  });

  it('finds the description of a field that may be null', () => {
    expect(list(z.object({ phone: z.string().meta({ description: 'E.164.' }).nullable() }))).toContain('E.164.');
  });

  it('is nothing for what has no fields', () => {
    expect(list(z.string())).toBe('');
  });
});
