import { expect, test } from 'vitest';
import { z } from 'zod';
import { withoutNulls } from './without-nulls.ts';

const schema = z.strictObject({
  to: z.string(),
  note: z.string().optional(),
  currency: z.enum(['USDC', 'EURC']).default('USDC'),
  phone: z.string().nullable().optional(),
  address: z.union([z.string(), z.strictObject({ city: z.string(), extra: z.string().optional() })]).optional(),
  parts: z.array(z.strictObject({ size: z.string().optional() })).optional(),
  passedOn: z.union([z.string(), z.record(z.string(), z.unknown()), z.array(z.unknown())]).optional(),
  when: z
    .string()
    .transform((text) => new Date(text))
    .optional(),
});

test.each([
  ['an optional field', { to: 'x', note: null }, { to: 'x' }],
  ['a field with a default', { to: 'x', currency: null }, { to: 'x' }],
  ['a field that is made into something else', { to: 'x', when: null }, { to: 'x' }],
  ['a required field, which is missed then', { to: null }, {}],
  ['an object that may be text', { to: 'x', address: null }, { to: 'x' }],
  ['a field of such an object', { address: { city: 'Bonn', extra: null } }, { address: { city: 'Bonn' } }],
  ['a field of an object in a list', { parts: [{ size: null }, {}] }, { parts: [{}, {}] }],
])('%s is left out', (_what, value, left) => {
  expect(withoutNulls(schema, value)).toEqual(left);
});

test.each([
  ['null where it means something', { phone: null }],
  ['what is passed on to somebody else', { passedOn: { a: null, b: [null], c: { d: null } } }],
  ['a list that is passed on', { passedOn: [null, { a: null }] }],
  ['a field that nobody knows, which is refused', { nothing: null }],
  ['names that every object inherits', { toString: null, valueOf: null }],
  ['null in a list, which is no field', { parts: [null] }],
  ['text', 'x'],
])('%s stays', (_what, value) => {
  expect(withoutNulls(schema, value)).toEqual(value);
});

test('a body that is null is none', () => {
  expect(withoutNulls(schema, null)).toBe(undefined);
  expect(withoutNulls(schema.optional(), null)).toBe(undefined);
  expect(withoutNulls(undefined, null)).toBe(undefined);
});
