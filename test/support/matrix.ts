/** Whether this is `npm run test:matrix`, which tries every combination and runs generated sequences for longer. */
export const isMatrix = process.env['TEST_MATRIX'] === 'true';

/** For one of many combinations: `npm test` runs the representative ones, `npm run test:matrix` runs them all. */
export function oneOfMany(which: { readonly isRepresentative: boolean }): { tags: ('matrix' | 'representative')[] } {
  return { tags: [which.isRepresentative ? 'representative' : 'matrix'] };
}
