import { expect, test } from 'vitest';
import { formatKeyEnd } from './key-lifetime.ts';

const dayMs = 24 * 60 * 60_000;
const createdAt = new Date('2026-01-01T00:00:00Z');
const unused = { expiresAt: null, lastUsedAt: null, createdAt };

test.each([
  ['nobody uses it', unused, '2026-01-11T00:00:00.000Z'],
  ['it was used', { ...unused, lastUsedAt: new Date('2026-01-05T00:00:00Z') }, '2026-01-15T00:00:00.000Z'],
  ['its use was noted before it was watched', { ...unused, lastUsedAt: new Date(0) }, '2026-01-11T00:00:00.000Z'],
  ['it has a day before that', { ...unused, expiresAt: new Date('2026-01-02T00:00:00Z') }, '2026-01-02T00:00:00.000Z'],
  ['it has a day after that', { ...unused, expiresAt: new Date('2027-01-02T00:00:00Z') }, '2026-01-11T00:00:00.000Z'],
])('when %s, a key ends accordingly', (_what, times, end) => {
  expect(formatKeyEnd(times, { idleMs: 10 * dayMs })).toBe(end);
});

test('where keys that nobody uses live on, a key without a day does not end', () => {
  const idleMs = Number.POSITIVE_INFINITY;
  expect(formatKeyEnd(unused, { idleMs })).toBeNull();
  expect(formatKeyEnd({ ...unused, expiresAt: createdAt }, { idleMs })).toBe(createdAt.toISOString());
});
