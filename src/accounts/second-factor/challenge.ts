import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../kernel/clock.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';

const nonceBytes = 16;
const timeBytes = 8;
const validMs = 5 * 60_000;

interface ChallengeParts {
  readonly secrets: Secrets;
  readonly clock: Clock;
}

/**
 * What a passkey signs: random, with its time and a keyed hash over both and the holder, which is the session or the sign-in that asked
 * for it. So nothing is stored until a passkey has answered it, and strangers cannot fill a table.
 */
export function newChallenge({ secrets, clock }: ChallengeParts, holder: string): string {
  const head = Buffer.concat([randomBytes(nonceBytes), Buffer.alloc(timeBytes)]);
  head.writeBigUInt64BE(BigInt(clock.now()), nonceBytes);
  return Buffer.concat([head, secrets.hash('challenges', nameOf(head, holder))]).toString('base64url');
}

/** Whether the challenge was made for this holder within the last five minutes. `spendChallenge` accepts it once. */
export function isChallenge({ secrets, clock }: ChallengeParts, holder: string, challenge: string): boolean {
  const bytes = Buffer.from(challenge, 'base64url');
  const head = bytes.subarray(0, nonceBytes + timeBytes);
  const mac = bytes.subarray(nonceBytes + timeBytes);
  const isOurs = secrets
    .hashes('challenges', nameOf(head, holder))
    .some((hash) => hash.length === mac.length && timingSafeEqual(hash, mac));
  return isOurs && clock.now() - Number(head.readBigUInt64BE(nonceBytes)) < validMs;
}

/** False when it was spent before. Some that have long been invalid are forgotten. */
export async function spendChallenge(tx: Transaction, challenge: string): Promise<boolean> {
  await tx.query(
    `DELETE FROM spent_challenges WHERE challenge IN (
       SELECT challenge FROM spent_challenges WHERE spent_at < now() - interval '15 minutes' LIMIT 100 FOR UPDATE SKIP LOCKED)`,
  );
  const { rowCount } = await tx.query(
    'INSERT INTO spent_challenges (challenge) VALUES ($1) ON CONFLICT (challenge) DO NOTHING',
    [Buffer.from(challenge, 'base64url')],
  );
  return rowCount === 1;
}

function nameOf(head: Buffer, holder: string): string {
  return `${head.toString('base64url')} ${holder}`;
}
