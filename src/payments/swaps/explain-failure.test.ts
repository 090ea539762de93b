import { expect, test } from 'vitest';
import { explainFailure } from './explain-failure.ts';

test.each([
  ['execution reverted: Too little received', 'The price moved by more than 1 % before the swap was made.'],
  ['execution reverted: Transaction too old', 'The swap could not be made before its deadline.'],
  ['It needs more gas than was paid for.', 'The swap needs more gas than was quoted.'],
  ['It is not allowed.', 'It is not allowed.'],
])('%s', (said, meant) => {
  expect(explainFailure(said)).toBe(meant);
});
