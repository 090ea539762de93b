import { expect, test } from 'vitest';
import { activeStates, defineSaga, isEnd, type SagaState } from './define-saga.ts';

function sagaOf<const States extends Readonly<Record<string, SagaState>>>(states: States) {
  return defineSaga({
    name: 'errand',
    table: 'errands',
    lane: 'place',
    about: 'what',
    fixed: [],
    states,
    checkpoints: [],
    rehearsal: { commands: [['errand']], endsAs: Object.keys(states)[0] as Extract<keyof States, string> },
  });
}

const done: SagaState = { meaning: 'it is done', next: [] };

test('a saga goes only where it can be', () => {
  const planned = { meaning: 'somebody has to go', next: ['gone'] };
  expect(() => sagaOf({ planned, done })).toThrow(new TypeError('errand cannot go from planned to gone'));
  expect(() => sagaOf({ planned: { ...planned, next: ['done', 'toString'] }, done })).toThrow(TypeError);
});

test('a state that nothing may follow is an end', () => {
  expect(isEnd(done)).toBe(true);
  expect(isEnd({ ...done, next: ['done'] })).toBe(false);
});

test('somebody goes on with what is neither at an end nor left to a person', () => {
  const saga = sagaOf({
    planned: { meaning: 'somebody has to go', next: ['held', 'done'] },
    held: { meaning: 'a person decides', next: ['planned'], rests: true },
    waiting: { meaning: 'nobody is there yet', next: ['planned'], withinMs: 1 },
    done,
  });
  expect(activeStates(saga)).toEqual(['planned', 'waiting']);
});
