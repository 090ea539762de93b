import pg from 'pg';

/** Told to a transaction that was silent for too long or ran for too long: it is gone, whatever was sent since. */
const endedTransaction = new Set(['25P03', '25P04']);

/** It is shutting down, has crashed or has ended the session, perhaps after it had done what it was asked. */
const endedSession = /^(57P0|08)/;

/**
 * Whether the database itself said no, so that what it was asked has certainly not happened. How severe it calls a thing is
 * told in its own language, so the code counts too.
 */
export function isUndone(error: unknown): error is pg.DatabaseError {
  if (!(error instanceof pg.DatabaseError)) return false;
  const { code = '', severity } = error;
  if (endedTransaction.has(code)) return true;
  return !endedSession.test(code) && severity !== 'FATAL' && severity !== 'PANIC';
}

/** No answer came at all: the connection is of no use any more, not even to roll back. */
export function isSilence(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout';
}
