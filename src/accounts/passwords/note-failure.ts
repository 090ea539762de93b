import { dailyCaps } from '../../kernel/daily-caps/caps.ts';
import { takeToday } from '../../kernel/daily-caps/take-today.ts';
import type { Database } from '../../kernel/db/database.ts';
import { networksOf } from '../../kernel/http/client-address.ts';
import type { RateLimiter } from '../../kernel/rate-limit/limiter.ts';
import { type AuditActor, recordAudit } from '../audit/record.ts';

const written = { limit: 20, windowMs: 3_600_000 };

export type NoteFailure = (failure: {
  readonly accountId: bigint;
  readonly by: AuditActor & { readonly address: string };
}) => Promise<void>;

/**
 * Limited per network and hour, and per account and day, so that strangers can neither flood the owner's audit log nor
 * fill the disk.
 */
export function createNoteFailure({ db, limiter }: { db: Database; limiter: RateLimiter }): NoteFailure {
  return async ({ accountId, by }) => {
    const { nearest, wider = nearest } = networksOf(by.address);
    const { allowed, remaining } = await limiter.take(`failures-noted:${accountId}:${wider}`, written);
    if (!allowed) return;
    const details = remaining === 0 ? { more: 'Further failures from this network are not recorded for an hour.' } : {};
    await db.transaction(async (tx) => {
      const scope = `failedSignIns:account:${accountId}`;
      if ((await takeToday(tx, { scope, limit: dailyCaps.failedSignIns.most })) === undefined) return;
      await recordAudit(tx, { accountId, action: 'sign_in.failed', by, details });
    });
  };
}
