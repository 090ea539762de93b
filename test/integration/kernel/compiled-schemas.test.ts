import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { describeIssue } from '../../../src/kernel/http/describe-issue.ts';
import { declaredRoutes } from '../../support/all-routes.ts';
import { badInputs } from '../../support/bad-input.ts';

interface Declared {
  readonly name: string;
  readonly schema: z.ZodType;
  readonly example: unknown;
}

/** What validate.ts and checked-json.ts parse. */
const declared: Declared[] = declaredRoutes().flatMap(({ spec }) => {
  const inputs = (['body', 'query', 'params'] as const).map((part) => {
    return { name: part, schema: spec[part], example: spec.examples?.[part] ?? {} };
  });
  const answers = Object.entries(spec.returns ?? {}).map(([status, { schema, example }]) => {
    return { name: status, schema, example };
  });
  const asked = { name: 'asks', schema: spec.asks?.schema, example: spec.asks?.example };
  return [...inputs, ...answers, asked].flatMap(({ name, schema, example }) =>
    schema === undefined ? [] : [{ name: `${spec.id} ${name}`, schema, example }],
  );
});

const others: readonly unknown[] = [null, 'nonsense', -1, 1e21, true, {}, []];

/** The value with each of its members missing, in turn of another type, or with one member too many. */
function* changed(value: unknown): Generator<unknown> {
  yield* others;
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    yield [...value, ...value];
    for (const [index, item] of value.slice(0, 2).entries())
      for (const inner of changed(item)) yield value.with(index, inner);
    return;
  }
  yield { ...value, nothingLikeThat: 1 };
  yield { ...value, ['__proto__']: 1 };
  yield Object.assign(Object.create({ inherited: 1 }), value);
  for (const [name, member] of Object.entries(value)) {
    const { [name as never]: _, ...rest } = value;
    yield rest;
    yield { ...rest, [name]: member };
    for (const inner of changed(member)) yield { ...value, [name]: inner };
  }
}

function outcomeOf(schema: z.ZodType, value: unknown) {
  try {
    const { success, data, error } = schema.safeParse(value, { error: describeIssue });
    // Hashes of requests and the text of answers depend on the order of the members.
    return { success, data, text: JSON.stringify(data), issues: error?.issues };
  } catch (error) {
    return { thrown: String(error) };
  }
}

test('bodies and answers are among the schemas', () => {
  const names = declared.map(({ name }) => name);
  expect(names).toEqual(
    expect.arrayContaining(['createTransfer body', 'createTransfer 200', 'createTransfer asks', 'listEvents query']),
  );
});

describe('a compiled schema parses as the schema itself', () => {
  test.each(declared.map((one) => [one.name, one] as const))('%s', (_name, { schema, example }) => {
    const compiled = z.compile(schema, { strict: true });
    for (const value of [example, ...changed(example), ...badInputs(schema, example)]) {
      const [fast, usual] = [outcomeOf(compiled, value), outcomeOf(schema, value)];
      if (!isDeepStrictEqual(fast, usual)) expect(fast, JSON.stringify(value)?.slice(0, 200)).toStrictEqual(usual);
    }
  });
});
