/** Whether this is `npm run test:matrix`, which tries every combination and runs generated sequences for longer. */
export const isMatrix = process.env['TEST_MATRIX'] === 'true';

interface Which {
  readonly isRepresentative: boolean;
  /** Others of the file build on the representative ones, so those run whenever the others do. */
  readonly isBuiltOn?: boolean;
}

/** For one of many combinations: `npm test` runs the representative ones, `npm run test:matrix` runs them all. */
export function oneOfMany({ isRepresentative, isBuiltOn = false }: Which): {
  tags: ('matrix' | 'representative' | 'longer')[];
} {
  if (!isRepresentative) return { tags: ['matrix'] };
  return { tags: [isBuiltOn ? 'longer' : 'representative'] };
}
