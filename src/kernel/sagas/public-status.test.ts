import { expect, test } from 'vitest';
import { defineSaga } from './define-saga.ts';
import { pictureOf, publicStatusesOf, publicStatusOf, statesShownAs } from './public-status.ts';

const errand = defineSaga({
  name: 'errand',
  table: 'errands',
  lane: 'place',
  about: 'what',
  fixed: [],
  states: {
    planned: { meaning: '', publicName: 'open', publicMeaning: 'It is planned.', next: ['gone', 'failed'] },
    gone: { meaning: '', publicName: 'open', next: ['paying'] },
    paying: { meaning: '', publicName: 'paying', publicMeaning: 'It is paid.', next: ['done'] },
    done: { meaning: '', publicName: 'done', publicMeaning: 'It is done.', next: [] },
    returning: { meaning: '', publicName: 'failed', next: ['failed'] },
    failed: { meaning: '', publicName: 'failed', publicMeaning: 'It is off.', next: [] },
  },
  checkpoints: [],
  rehearsal: { commands: [['errand']], endsAs: 'done' },
});

test('states that share a public name are one status', () => {
  expect(publicStatusesOf(errand)).toEqual(['open', 'paying', 'done', 'failed']);
  expect(publicStatusOf(errand, 'returning')).toBe('failed');
  expect(statesShownAs(errand, 'open')).toEqual(['planned', 'gone']);
});

test('a state that only a newer release knows is still under way', () => {
  expect(publicStatusOf(errand, 'newer' as 'gone')).toBe('paying');
});

test('the picture marks the statuses that may still fail', () => {
  expect(pictureOf(errand, 'An errand')).toEqual({
    caption: 'An errand',
    way: [
      { state: 'open', meaning: 'It is planned.', mayFail: true },
      { state: 'paying', meaning: 'It is paid.' },
      { state: 'done', meaning: 'It is done.' },
    ],
    failed: { state: 'failed', meaning: 'It is off.' },
  });
});
