import { expect, it } from 'vitest';
import { z } from 'zod';
import { compiled } from './compiled.ts';

it('compiles a schema on its second use, and once', () => {
  const schema = z.strictObject({ name: z.string() });
  expect(compiled(schema)).toBe(schema);
  const fast = compiled(schema);
  expect(fast).not.toBe(schema);
  expect(compiled(schema)).toBe(fast);
  expect(fast.parse({ name: 'Ada' })).toEqual({ name: 'Ada' });
});

it('uses a schema that cannot be compiled as it is', () => {
  interface Tree {
    readonly children: readonly Tree[];
  }
  const tree: z.ZodType<Tree> = z.lazy(() => z.object({ children: z.array(tree) }));
  for (let use = 1; use <= 3; use++) expect(compiled(tree)).toBe(tree);
});
