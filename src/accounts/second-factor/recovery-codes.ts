import { randomBytes } from 'node:crypto';
import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';

const codesMade = 10;
const codeLength = 10;

/** Crockford's base 32, in which no two characters look alike. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';

/** Replaces all earlier codes by ten new ones, such as `4k7xm-92tbq`. They are not stored, so this is the only time they are known. */
export async function makeRecoveryCodes(tx: Transaction, secrets: Secrets, accountId: bigint): Promise<string[]> {
  const codes = Array.from({ length: codesMade }, newCode);
  await tx.query('DELETE FROM recovery_codes WHERE account_id = $1', [accountId]);
  const hashes = codes.map((code) => secrets.hash('recovery-codes', nameOf(accountId, code)));
  await tx.query('INSERT INTO recovery_codes (account_id, code_hash) SELECT $1, unnest($2::bytea[])', [
    accountId,
    hashes,
  ]);
  return codes.map((code) => `${code.slice(0, codeLength / 2)}-${code.slice(codeLength / 2)}`);
}

/** Uses a code up. False when it is wrong or was used before. Concurrent uses of one code wait for each other. */
export async function spendRecoveryCode(
  tx: Transaction,
  secrets: Secrets,
  { accountId, code }: { readonly accountId: bigint; readonly code: string },
): Promise<boolean> {
  const { rowCount } = await tx.query('DELETE FROM recovery_codes WHERE account_id = $1 AND code_hash = ANY ($2)', [
    accountId,
    secrets.hashes('recovery-codes', nameOf(accountId, readCode(code))),
  ]);
  return rowCount === 1;
}

export async function recoveryCodesLeft(db: Queryable, accountId: bigint): Promise<number> {
  const { rows } = await db.query<{ left: number }>(
    'SELECT count(*)::integer AS left FROM recovery_codes WHERE account_id = $1',
    [accountId],
  );
  return rows[0]?.left ?? 0;
}

/** 256 is a multiple of 32, so every character is equally likely. */
function newCode(): string {
  return [...randomBytes(codeLength)].map((byte) => alphabet[byte % alphabet.length]).join('');
}

/** Forgives capitals, the hyphen, spaces and characters that look like the right one. */
function readCode(typed: string): string {
  return typed.toLowerCase().replaceAll(/[\s-]/g, '').replaceAll('o', '0').replaceAll(/[il]/g, '1');
}

function nameOf(accountId: bigint, code: string): string {
  return `${accountId} ${code}`;
}
