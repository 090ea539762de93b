import type { Queryable } from '../../kernel/db/database.ts';
import { newId } from '../../kernel/ids/ids.ts';
import type { AuditAction } from './actions.ts';

/** Who did it. Empty for the service itself. */
export interface AuditActor {
  /** The API key of the request. */
  readonly keyId?: string | undefined;
  /** The operator's system user name. */
  readonly operator?: string | undefined;
  /** The client's address. */
  readonly address?: string | undefined;
}

export interface AuditEntry {
  /** Null when the entry is about the service itself. */
  readonly accountId: bigint | null;
  readonly action: AuditAction;
  readonly by: AuditActor;
  /** Small and flat. The account's owner sees it: never a secret, and nothing for the operator only. */
  readonly details?: Readonly<Record<string, string | number | boolean | null | readonly string[]>>;
  /** For the operator only. */
  readonly note?: string;
}

/** Records who did what, in the same transaction as the action. */
export async function recordAudit(
  tx: Queryable,
  { accountId, action, by, details = {}, note }: AuditEntry,
): Promise<void> {
  await tx.query(
    `INSERT INTO audit_log (id, account_id, action, key_id, operator, address, details, note)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      newId('aud'),
      accountId,
      action,
      by.keyId ?? null,
      by.operator ?? null,
      by.address ?? null,
      JSON.stringify(details),
      note ?? null,
    ],
  );
}
