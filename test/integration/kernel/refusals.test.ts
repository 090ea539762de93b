import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import { Problem } from '../../../src/kernel/http/problem.ts';
import { validate } from '../../../src/kernel/http/validate.ts';
import { declaredRoutes } from '../../support/all-routes.ts';
import { badInputs } from '../../support/bad-input.ts';

const zodWords =
  /\bexpected\b|Invalid|Too (small|big)|, received (?:undefined|null|string|number|boolean|object|array|NaN|Infinity)\b|Unrecognized|must match pattern|discriminator/;

type Part = 'body' | 'query' | 'params';

interface Input {
  readonly name: string;
  readonly part: Part;
  readonly schema: z.ZodType;
  readonly good: unknown;
}

const routes = declaredRoutes();

const inputs: Input[] = routes.flatMap(({ spec }) =>
  (['body', 'query', 'params'] as const).flatMap((part) => {
    const schema = spec[part];
    return schema === undefined
      ? []
      : [{ name: `${spec.id} ${part}`, part, schema, good: spec.examples?.[part] ?? {} }];
  }),
);

function refusalOf({ part, schema }: Input, value: unknown): Problem | undefined {
  try {
    validate(part, schema, value);
    return undefined;
  } catch (error) {
    // Anything else would be answered with a 500.
    expect(error).toBeInstanceOf(Problem);
    return error as Problem;
  }
}

test('every feature is asked for its routes', () => {
  expect(inputs.length).toBeGreaterThan(60);
  expect(inputs.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['registerAgent body', 'createTransfer body', 'buyProduct body', 'fundSandboxAccount body']),
  );
});

describe('whatever is wrong with a request is said in our words', () => {
  test.each(inputs.map((input) => [input.name, input] as const))('%s', (_name, input) => {
    let refused = 0;
    for (const value of badInputs(input.schema, input.good)) {
      const problem = refusalOf(input, value);
      if (problem === undefined) continue;
      refused += 1;
      const at = JSON.stringify(value)?.slice(0, 100);
      expect([problem.code, problem.status], at).toEqual(['invalid_request', 400]);
      expect(problem.message, at).toMatch(/^\S.*\S\.$/s);
      expect(problem.message, at).not.toMatch(zodWords);
      for (const { message } of problem.extras.errors ?? []) {
        expect(message, at).toMatch(/^(must|is|has|does|after|cannot) /);
        expect(message, at).not.toMatch(zodWords);
      }
    }
    expect(refused).toBeGreaterThan(10);
  });
});

test('what is not found is named, by one code for each kind of thing', () => {
  const missing = routes.flatMap(({ spec }) => (spec.errors ?? []).filter(({ status }) => status === 404));
  const byCode = new Map(missing.map((kind) => [kind.code, kind]));
  // Shops branch on this one, and it tells nothing apart that another code names.
  const others = [...byCode.keys()].filter((code) => !code.endsWith('_not_found') && code !== 'credential_unknown');
  expect(others).toEqual([]);
  for (const kind of missing) expect(byCode.get(kind.code)).toBe(kind);
  const titles = [...byCode.values()].map(({ title }) => title);
  expect(new Set(titles).size).toBe(titles.length);
});
