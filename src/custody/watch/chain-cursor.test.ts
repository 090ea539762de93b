import { expect, it } from 'vitest';
import type { Queryable } from '../../kernel/db/database.ts';
import type { ChainId } from '../../money/catalogue.ts';
import { createChainHolds } from './chain-cursor.ts';

/** A database that grants every lease, one statement at a time, when the test lets it. */
function createLeases() {
  const statements: { readonly taken: ChainId[]; readonly renewed: ChainId[] }[] = [];
  const waiting: { answer(): void; fail(): void }[] = [];
  const query = (_text: string, [taken, , , renewed]: [ChainId[], string, number, ChainId[]]) =>
    new Promise((resolve, reject) => {
      statements.push({ taken, renewed });
      const rows = [...taken, ...renewed].map((chain) => ({ chain, number: 1n, hash: '0x1' }));
      waiting.push({ answer: () => resolve({ rows }), fail: () => reject(new Error('the database is away')) });
    });
  const holds = createChainHolds({ query } as unknown as Queryable, { holder: 'me', leaseMs: 60_000 });
  /** Lets readers that could go on do so. */
  const settle = () => new Promise(setImmediate);
  return {
    statements,
    holds,
    settle,
    async next(how: 'answer' | 'fail' = 'answer') {
      await settle();
      waiting.shift()?.[how]();
      await settle();
    },
  };
}

const cursor = { number: 1n, hash: '0x1' };

it('takes the chains of all readers that wait with one statement', async () => {
  const { holds, statements, next } = createLeases();
  const first = holds.take('MATIC');
  await new Promise(setImmediate);
  const others = [holds.take('BASE'), holds.take('OP'), holds.take('ARB')];
  await next();
  expect(await first).toEqual(cursor);
  await next();
  expect(await Promise.all(others)).toEqual([cursor, cursor, cursor]);
  expect(statements).toEqual([
    { taken: ['MATIC'], renewed: [] },
    { taken: ['BASE', 'OP', 'ARB'], renewed: [] },
  ]);
});

it('renews every held chain that has answered, also for readers that ask meanwhile', async () => {
  const { holds, statements, next, settle } = createLeases();
  const begun = [holds.take('MATIC'), holds.take('BASE'), holds.take('OP')];
  await next();
  await Promise.all(begun);
  // OP has not answered since, so its lease must run out.
  holds.noteAnswer('MATIC');
  holds.noteAnswer('BASE');
  const one = holds.take('MATIC');
  await settle();
  const other = holds.take('BASE');
  await next();
  expect(await Promise.all([one, other])).toEqual([cursor, cursor]);
  expect(statements.slice(1)).toEqual([{ taken: ['MATIC'], renewed: ['BASE'] }]);
});

it('goes on after a statement that failed', async () => {
  const { holds, statements, next, settle } = createLeases();
  const failed = holds.take('MATIC').catch((error: Error) => error.message);
  await settle();
  const behind = holds.take('BASE');
  await next('fail');
  expect(await failed).toBe('the database is away');
  await next();
  expect(await behind).toEqual(cursor);
  expect(statements).toHaveLength(2);
});
