import pg from 'pg';

/** Told to a transaction that was silent for too long or ran for too long: it is gone, whatever was sent since. */
const endedTransaction = new Set(['25P03', '25P04']);

/** Whether the database itself said no, so that what it was asked has certainly not happened. */
export function isUndone(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return false;
  return endedTransaction.has(error.code ?? '') || !(error.severity === 'FATAL' || error.severity === 'PANIC');
}

/** No answer came at all: the connection is of no use any more, not even to roll back. */
export function isSilence(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout';
}
