import { expect, test } from 'vitest';
import { defineSaga } from './define-saga.ts';
import { handleSaga } from './run-saga.ts';

const errand = defineSaga({
  name: 'errand',
  table: 'errands',
  lane: 'place',
  about: 'what',
  fixed: [],
  states: {
    planned: { meaning: 'somebody has to go', next: ['under_way', 'held'] },
    under_way: { meaning: 'somebody has gone', next: ['done'] },
    held: { meaning: 'a person decides', next: ['planned'], rests: true },
    done: { meaning: 'it is done', next: [] },
  },
  checkpoints: [],
  rehearsal: { commands: [['errand']], endsAs: 'done' },
});

const find = async () => undefined;
const rest = async () => 'rest' as const;

test('there is one step for each state in which somebody has to go on, and none for the others', () => {
  expect(handleSaga(errand, find, { planned: rest, under_way: rest }).saga).toBe(errand);
  const sentence = 'a errand needs a step for each of planned, under_way';
  expect(() => handleSaga(errand, find, { planned: rest })).toThrow(sentence);
  expect(() => handleSaga(errand, find, { planned: rest, held: rest })).toThrow(sentence);
  expect(() => handleSaga(errand, find, { planned: rest, under_way: rest, held: rest })).toThrow(sentence);
});
