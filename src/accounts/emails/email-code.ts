import type { Secrets } from '../../kernel/secrets/secrets.ts';

interface EmailCode {
  readonly accountId: bigint;
  /** The new address. */
  readonly email: string;
  /** The address that the code was sent to. */
  readonly of: 'new' | 'current';
}

/** Bound to the change: a code for one change is useless for another. */
export function hashEmailCode(secrets: Secrets, proves: EmailCode, code: string): Buffer {
  return secrets.hash('verification-codes', textOf(proves, code));
}

export function hashesOfEmailCode(secrets: Secrets, proves: EmailCode, code: string): readonly Buffer[] {
  return secrets.hashes('verification-codes', textOf(proves, code));
}

function textOf({ accountId, email, of }: EmailCode, code: string): string {
  return `${accountId} email-change ${of} ${email} ${code}`;
}
