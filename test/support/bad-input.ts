import { z } from 'zod';

/** Every object in a schema, with the path that leads to it. */
function objectsIn(schema: z.core.$ZodType, path: readonly string[] = []): [readonly string[], z.ZodObject][] {
  if (schema instanceof z.ZodObject) {
    const inner = Object.entries(schema.shape).flatMap(([name, field]) => objectsIn(field, [...path, name]));
    return [[path, schema], ...inner];
  }
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => objectsIn(option, path));
  if (schema instanceof z.ZodPipe) return objectsIn(schema.in, path);
  if (schema instanceof z.ZodArray) return objectsIn(schema.element, [...path, '0']);
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodNullable) {
    return objectsIn(schema.unwrap(), path);
  }
  return [];
}

const badValues: readonly unknown[] = [
  undefined,
  null,
  '',
  ' ',
  'nonsense',
  '-1',
  '1e3',
  '0x1',
  'Infinity',
  '2026-02-30',
  'x'.repeat(5_000),
  '\u202e\u200b',
  0,
  -1,
  0.5,
  1e-7,
  1e21,
  Number.NaN,
  true,
  {},
  { nothing: 1 },
  [],
  [null],
  ['x'],
  Array.from({ length: 200 }, () => 'x'),
];

function put(target: unknown, path: readonly string[], value: unknown): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  const whole = typeof target === 'object' && target !== null && !Array.isArray(target) ? target : {};
  const changed = put((whole as Record<string, unknown>)[name], rest, value);
  return name === '0' ? [changed] : { ...whole, [name]: changed };
}

/** Each field with each bad value, a field too many in each object, and what is no object at all. */
export function* badInputs(schema: z.ZodType, good: unknown): Generator<unknown> {
  yield* badValues;
  for (const [path, object] of objectsIn(schema)) {
    yield put(good, [...path, 'nothingLikeThat'], 1);
    for (const name of Object.keys(object.shape))
      for (const value of badValues) yield put(good, [...path, name], value);
  }
}
