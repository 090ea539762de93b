import type { BookChange, Books } from './session.ts';

/** How long responses and ended checkouts are kept. */
const keptMs = 48 * 3_600_000;

/** Limits regardless of age. */
const mostAnswers = 50_000;
const mostSessions = 10_000;
const atOnce = 100;

/** Old entries to delete, a few at a time, oldest first. Orders and payments in progress stay. */
export function forgetOld(books: Books, now: number): readonly BookChange[] {
  const changes: BookChange[] = [];
  let answers = books.count('answer');
  for (const [key, { at }] of books.all('answer')) {
    if (changes.length === atOnce || (at + keptMs > now && answers <= mostAnswers)) break;
    changes.push(['answer', key, null]);
    answers -= 1;
  }
  const crowded = books.count('session') > mostSessions;
  for (const [id, { state, expiresAt }] of books.all('session')) {
    if (changes.length >= 2 * atOnce || (expiresAt > now && !crowded)) break;
    const ended = state === 'completed' || state === 'canceled';
    if (state === 'open' ? expiresAt <= now : ended && (crowded || expiresAt + keptMs <= now)) {
      changes.push(['session', id, null]);
    }
  }
  return changes;
}
