import { httpErrors } from '../kernel/http/errors.ts';
import type { Outcome } from './posting.ts';
import { ledgerRefusals } from './refusals.ts';

/** For what is new and takes from a balance: posted, or the refusal that whoever asks is told. */
export function requirePosted(outcome: Outcome['outcome'], what: string): void {
  switch (outcome) {
    case 'posted':
      return;
    case 'insufficient_balance':
      throw ledgerRefusals.insufficient_balance();
    case 'frozen_account':
      throw ledgerRefusals.account_frozen();
    case 'key_revoked':
      throw httpErrors.unauthorized(undefined, { headers: { 'WWW-Authenticate': 'Bearer' } });
    case 'unknown_account':
    case 'duplicate':
    case 'mismatch':
      throw new Error(`${what} was refused: ${outcome}`);
  }
}
