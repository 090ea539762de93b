import { expect, test } from 'vitest';
import { explainFailure } from './explain-failure.ts';

test.each([
  ['execution reverted: Too little received', 'The price moved by more than 1 % before it could be swapped.'],
  ['execution reverted: Transaction too old', 'It could not be swapped in time.'],
  ['It needs more gas than was paid for.', 'Its pools use more gas than was quoted.'],
  ['It is not allowed.', 'It is not allowed.'],
])('%s', (said, meant) => {
  expect(explainFailure(said)).toBe(meant);
});
