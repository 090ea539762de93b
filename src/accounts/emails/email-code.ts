import type { Secrets } from '../../kernel/secrets/secrets.ts';

interface EmailCode {
  readonly accountId: bigint;
  /** The address that the account wants. */
  readonly email: string;
  /** Which of the two addresses it was sent to. */
  readonly of: 'new' | 'current';
}

/** Bound to what it proves: a code for one change is worth nothing for another. */
export function hashEmailCode(secrets: Secrets, proves: EmailCode, code: string): Buffer {
  return secrets.hash('verification-codes', textOf(proves, code));
}

export function hashesOfEmailCode(secrets: Secrets, proves: EmailCode, code: string): readonly Buffer[] {
  return secrets.hashes('verification-codes', textOf(proves, code));
}

function textOf({ accountId, email, of }: EmailCode, code: string): string {
  return `${accountId} email-change ${of} ${email} ${code}`;
}
