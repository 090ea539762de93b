import pg from 'pg';
import { expect, test } from 'vitest';
import { OutcomeUnknown, TryAgain } from '../db/errors.ts';
import { DatabaseBusy } from '../db/slots.ts';
import { httpErrors } from './errors.ts';
import { toProblem } from './send-problem.ts';

function databaseError(code: string): Error {
  return Object.assign(new pg.DatabaseError('secret detail', 0, 'error'), { code });
}

test.each([
  ['something that is busy', new TryAgain('secret detail'), 503, 'unavailable'],
  ['a connection lost in mid-commit', new OutcomeUnknown(new Error('secret detail')), 503, 'outcome_unknown'],
  ['a database that is shutting down', databaseError('57P01'), 503, 'unavailable'],
  ['a statement that took too long', databaseError('57014'), 503, 'unavailable'],
  ['a lock that somebody keeps', databaseError('55P03'), 503, 'unavailable'],
  ['a transaction that was silent for too long', databaseError('25P03'), 503, 'unavailable'],
  ['a deadlock', databaseError('40P01'), 503, 'unavailable'],
  ['too many transactions', new DatabaseBusy('invoices'), 503, 'unavailable'],
  ['a database that says nothing', new Error('Query read timeout'), 503, 'unavailable'],
  ['a disk that is full', databaseError('53100'), 503, 'unavailable'],
  [
    'a client that is gone',
    new Error('Client has encountered a connection error and is not queryable'),
    503,
    'unavailable',
  ],
  ['a statement that was refused', databaseError('23514'), 500, 'internal_error'],
  ['a mistake of ours', new TypeError('secret detail'), 500, 'internal_error'],
  ['a problem', httpErrors.conflict(), 409, 'conflict'],
])('%s', (_what, error, status, code) => {
  const problem = toProblem(error);
  expect([problem.status, problem.code]).toEqual([status, code]);
  expect(problem.message).not.toContain('secret detail');
  if (status === 503) expect(problem.extras.headers).toEqual({ 'Retry-After': '1' });
});
