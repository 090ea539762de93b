import { expect, test } from 'vitest';
import { swapPicture } from './picture.ts';
import { publicStatuses } from './saga.ts';

test('the picture shows every state that its owner is told', () => {
  const { way, failed } = swapPicture;
  expect([...way.map(({ state }) => state), failed.state]).toEqual([...publicStatuses]);
});
