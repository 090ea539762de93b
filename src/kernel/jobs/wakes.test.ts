import { expect, it, onTestFinished, vi } from 'vitest';
import type { Queryable } from '../db/database.ts';
import { createNotice } from './wakes.ts';

it('notifies at once, then once for all that was told within a tenth of a second, and is silent after that', () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const sent: unknown[] = [];
  const query = (_text: string, values: unknown) => {
    sent.push(values);
    // A notification that fails is not the poster's trouble.
    return Promise.reject(new Error('the database is away'));
  };
  const notice = createNotice({ query } as unknown as Queryable, 'events');
  notice.tell();
  expect(sent).toEqual([['paywright_work', 'events']]);
  for (let more = 0; more < 50; more++) notice.tell();
  expect(sent).toHaveLength(1);
  vi.advanceTimersByTime(100);
  expect(sent).toHaveLength(2);
  vi.advanceTimersByTime(1_000);
  expect(sent).toHaveLength(2);
  notice.tell();
  expect(sent).toHaveLength(3);
  notice.tell();
  void notice.stop();
  expect(sent).toHaveLength(4);
  vi.advanceTimersByTime(1_000);
  expect(sent).toHaveLength(4);
});
