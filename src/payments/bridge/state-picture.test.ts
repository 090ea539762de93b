import { expect, test } from 'vitest';
import { bridgeSaga, publicStatuses } from './saga.ts';
import { bridgePicture } from './state-picture.ts';

test('the picture shows every state that its owner is told, and fails where the saga does', () => {
  const { way, failed } = bridgePicture;
  expect([...way.map(({ state }) => state), failed.state]).toEqual([...publicStatuses]);
  const failing = Object.entries(bridgeSaga.states).filter(([state, { next }]) => {
    const ends: readonly string[] = next;
    return state !== 'returning' && (ends.includes('returning') || ends.includes('failed'));
  });
  expect(way.filter(({ mayFail }) => mayFail).map(({ state }) => state)).toEqual(failing.map(([state]) => state));
});
