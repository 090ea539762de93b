import type { Queryable } from '../../kernel/db/database.ts';
import { newId } from '../../kernel/ids/ids.ts';
import type { AuditAction } from './actions.ts';

/** Who did it. Nobody at all is the service itself. */
export interface AuditActor {
  /** The API key that called. */
  readonly keyId?: string | undefined;
  /** The operator who gave a command, by the name that the machine knows. */
  readonly operator?: string | undefined;
  /** Where the request came from. */
  readonly address?: string | undefined;
}

export interface AuditEntry {
  /** Whose account it is about; null when it is about the service itself. */
  readonly accountId: bigint | null;
  readonly action: AuditAction;
  readonly by: AuditActor;
  /** Small and flat. Its owner sees it: never a secret, and nothing that only the operator may know. */
  readonly details?: Readonly<Record<string, string | number | boolean | null | readonly string[]>>;
  /** For the operator alone. */
  readonly note?: string;
}

/** Writes down who did what, in the commit that does it: there is no deed without its entry, and no entry without its deed. */
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
