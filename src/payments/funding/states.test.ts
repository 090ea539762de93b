import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { linkPicture, linkStates, linkStatuses, statusOf } from './states.ts';

test('the README diagram shows exactly the declared steps', () => {
  const readme = readFileSync(new URL('./README.md', import.meta.url), 'utf8');
  const drawn = [...readme.matchAll(/^ {2}(\w+) --> (\w+)$/gm)].map(([, from, to]) => `${from} ${to}`);
  const steps = Object.entries(linkStates).flatMap(([from, next]) => Object.values(next).map((to) => `${from} ${to}`));
  expect(drawn.sort()).toEqual(steps.sort());
});

test('the reference and the SQL name the same states', () => {
  const told = [...linkPicture.way.map(({ state }) => state), linkPicture.failed.state];
  expect(told.sort()).toEqual(linkStatuses.toSorted());
  expect([...statusOf.matchAll(/'(\w+)'/g)].map(([, name]) => name).sort()).toEqual(linkStatuses.toSorted());
});
