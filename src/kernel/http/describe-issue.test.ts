import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Problem } from './problem.ts';
import { validate } from './validate.ts';

function errorsOf(schema: z.ZodType, value: unknown): [string, string][] {
  try {
    validate('body', schema, value);
  } catch (error) {
    return ((error as Problem).extras.errors ?? []).map(({ path, message }) => [path, message]);
  }
  return [];
}

/** What is said about one field. */
function said(field: z.ZodType, value: unknown): string | undefined {
  return errorsOf(z.strictObject({ field }), { field: value })[0]?.[1];
}

describe('a schema without messages of its own', () => {
  const cases: [string, z.ZodType, unknown, string][] = [
    ['missing', z.string(), undefined, 'is required'],
    ['another type', z.string(), 5, 'must be a string'],
    ['a list for an object', z.strictObject({}), [], 'must be an object'],
    ['an object for a list', z.array(z.string()), {}, 'must be an array'],
    ['a word for a switch', z.boolean(), 'yes', 'must be true or false'],
    ['a fraction', z.int(), 1.5, 'must be a whole number'],
    ['not a number at all', z.number(), Number.NaN, 'must be a number'],
    ['a list for a record', z.record(z.string(), z.string()), [], 'must be an object'],
    ['a date', z.date(), 'x', 'must be a date'],
    ['something where nothing may be', z.null(), 1, 'must be null'],
    ['empty text', z.string().min(1), '', 'must not be empty'],
    ['short text', z.string().min(8), 'x', 'must have at least 8 characters'],
    ['long text', z.string().max(3), 'xxxx', 'must have at most 3 characters'],
    ['text of another length', z.string().length(6), 'x', 'must have exactly 6 characters'],
    ['one character', z.string().max(1), 'xx', 'must have at most 1 character'],
    ['a short list', z.array(z.string()).min(1), [], 'must have at least 1 item'],
    ['a long list', z.array(z.string()).max(2), ['a', 'b', 'c'], 'must have at most 2 items'],
    ['a small number', z.number().min(5), 4, 'must be at least 5'],
    ['a large number', z.number().max(5), 6, 'must be at most 5'],
    ['nothing', z.number().positive(), 0, 'must be more than 0'],
    ['the limit itself', z.number().lt(5), 5, 'must be less than 5'],
    ['a step', z.number().multipleOf(5), 6, 'must be a multiple of 5'],
    ['another pattern', z.string().regex(/^a$/), 'b', 'has an invalid format'],
    ['no email', z.email(), 'x', 'must be an email address'],
    ['no URL', z.url(), 'x', 'must be a URL such as https://example.com/page'],
    ['no moment', z.iso.datetime(), 'x', 'must be a date and time such as 2027-01-31T12:00:00Z'],
    ['an id of a strange kind', z.cuid2(), '!', 'has an invalid format'],
    ['another beginning', z.string().startsWith('pa_'), 'x', 'must begin with "pa_"'],
    ['another end', z.string().endsWith('_x'), 'y', 'must end with "_x"'],
    ['something left out', z.string().includes('@'), 'y', 'must contain "@"'],
    ['another word', z.enum(['USDC', 'EURC']), 'GBP', 'must be one of USDC, EURC'],
    ['another constant', z.literal('pro'), 'x', 'must be "pro"'],
    ['another number', z.literal(1), 2, 'must be 1'],
    ['none of two types', z.union([z.string(), z.strictObject({})]), 5, 'must be a string or an object'],
    [
      'text that fits none',
      z.union([z.email(), z.string().max(1)]),
      'xx',
      'must be an email address, or must have at most 1 character',
    ],
    [
      'an unknown kind',
      z.discriminatedUnion('kind', [z.object({ kind: z.literal('a') })]),
      { kind: 'b' },
      'must be one of a',
    ],
    ['a refusal without a reason', z.string().refine(() => false), 'x', 'is not valid here'],
    ['a wrong name', z.record(z.string().max(1), z.string()), { long: 'x' }, 'has a key that is not allowed'],
    ['a wrong entry', z.map(z.string(), z.string()), new Map([[{}, 'x']]), 'has a key that is not allowed'],
  ];
  test.each(cases)('%s', (_what, field, value, message) => {
    expect(said(field, value)).toBe(message);
    const own = z.strictObject({ field }).safeParse({ field: value }).error?.issues[0]?.message;
    expect(message).not.toBe(own);
  });
});

test('a message of its own stays, except that what is missing is required', () => {
  const currency = z.enum(['USDC', 'EURC'], { error: 'must be USDC or EURC' });
  expect(said(currency, 'GBP')).toBe('must be USDC or EURC');
  expect(said(currency, undefined)).toBe('is required');
});

test('what fits one option of a union except for a field is told about that field', () => {
  const address = z.union([
    z.string().min(1),
    z.strictObject({ city: z.string().min(1), phone: z.string().optional() }),
  ]);
  const schema = z.strictObject({ address });
  expect(errorsOf(schema, { address: { city: '' } })).toEqual([['address.city', 'must not be empty']]);
  expect(errorsOf(schema, { address: {} })).toEqual([['address.city', 'is required']]);
  expect(errorsOf(schema, { address: { city: 'Bonn', fax: '1' } })).toEqual([
    ['address.fax', 'is not a field of this operation'],
  ]);
  expect(errorsOf(schema, { address: '' })).toEqual([['address', 'must not be empty']]);
  expect(errorsOf(schema, { address: 5 })).toEqual([['address', 'must be a string or an object']]);
});
