import type { BookChange, Books } from './tables.ts';

/** How long an answer is given again under its key, and a checkout that has ended is still shown. */
const keptMs = 48 * 3_600_000;

/** However young they are, no more are kept than this. */
const mostAnswers = 50_000;
const mostSessions = 10_000;
const atOnce = 100;

/** What to take out of the books, a little at a time: the oldest stand first. Orders, and what is being paid, stay. */
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
