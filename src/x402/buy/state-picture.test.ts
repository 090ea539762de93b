import { expect, test } from 'vitest';
import { publicStatuses } from './saga.ts';
import { purchasePicture } from './state-picture.ts';

test('the picture shows every state that its owner is told', () => {
  const { way, failed } = purchasePicture;
  expect([...way.map(({ state }) => state), failed.state]).toEqual([...publicStatuses]);
});
