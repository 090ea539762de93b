import { expect, test } from 'vitest';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { findSession } from './desk.ts';
import { forgetOld } from './forget-old.ts';
import { openJournal } from './journal.ts';
import type { Session, Tables } from './session.ts';
import { createShelf } from './shelf.ts';
import { shopBehaviour } from './switches.ts';

const hour = 3_600_000;
const version = '2026-08-25';
const sessionOf = (id: string, state: Session['state'], expiresAt: number): Session => ({
  id,
  version,
  state,
  currency: 'USD',
  lines: [],
  needsBuyer: false,
  expiresAt,
});

test('an open checkout is over when its time has come; one that is being paid, or was, can still be looked at', async () => {
  const books = await openJournal<Tables>(undefined);
  const states = ['open', 'completing', 'completed', 'canceled'] as const;
  await books.commit(states.map((state) => ['session', state, sessionOf(state, state, 6 * hour)]));
  const desk = {
    books,
    clock: { now: () => 7 * hour },
    logger: createLogger('silent'),
    shelf: createShelf([], books),
    behaviour: () => shopBehaviour.parse({}),
    signingKey: () => Promise.reject(new Error('nothing is signed here')),
    publicUrl: () => '',
    domain: 'shop.example',
  };
  expect(() => findSession(desk, { sessionId: 'open', version })).toThrow();
  expect(() => findSession(desk, { sessionId: 'completed', version: '2026-04-08' })).toThrow();
  for (const state of states.slice(1)) expect(findSession(desk, { sessionId: state, version }).state).toBe(state);
});

test('what is over is forgotten: checkouts at once or after two days, answers after two days, never what is being paid', async () => {
  const books = await openJournal<Tables>(undefined);
  const states = ['open', 'completing', 'completed', 'canceled'] as const;
  await books.commit(states.map((state) => ['session', state, sessionOf(state, state, 6 * hour)]));
  await books.commit([
    ['session', 'young', sessionOf('young', 'open', 100 * hour)],
    ['answer', 'old', { fingerprint: '', sessionId: '', at: 0 }],
    ['answer', 'new', { fingerprint: '', sessionId: '', at: 20 * hour }],
  ]);
  const forgotten = (now: number) => forgetOld(books, now).map(([table, id]) => `${table} ${id}`);
  expect(forgotten(5 * hour)).toEqual([]);
  expect(forgotten(7 * hour)).toEqual(['session open']);
  expect(forgotten(60 * hour)).toEqual(['answer old', 'session open', 'session completed', 'session canceled']);
});

test('when it is crowded, the oldest that have ended make room', async () => {
  const books = await openJournal<Tables>(undefined);
  const many = Array.from({ length: 10_001 }, (_, index) => `s${index}`);
  await books.commit(many.map((id) => ['session', id, sessionOf(id, id === 's1' ? 'open' : 'completed', 6 * hour)]));
  const forgotten = forgetOld(books, 0).map(([, id]) => id);
  expect(forgotten.slice(0, 2)).toEqual(['s0', 's2']);
  expect(forgotten).toHaveLength(200);
});
