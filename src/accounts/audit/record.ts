import { userInfo } from 'node:os';
import type { Queryable } from '../../kernel/db/database.ts';
import { newId } from '../../kernel/ids/ids.ts';
import { redactText } from '../../kernel/log/redact.ts';

/** Read-only commands, by their last word. All others are recorded. */
const looking = new Set('audit debtors dues keys list reconcile reserves show unknown'.split(' '));

export interface GivenCommand {
  readonly name: string;
  /** Everything typed after `paywright`. */
  readonly words: readonly string[];
}

/** Records an operator command before it runs, because it may take several commits or be interrupted. */
export async function recordCommand(db: Queryable, operator: string, { name, words }: GivenCommand): Promise<void> {
  if (looking.has(name)) return;
  await recordAudit(db, {
    accountId: null,
    action: 'operator.command',
    by: { operator },
    details: { command: withoutSecrets(words.join(' ')) },
  });
}

/** A URL may carry a secret in its query. */
function withoutSecrets(typed: string): string {
  return redactText(typed.replaceAll(/(https?:\/\/[^\s?#]*)[?#]\S*/gi, '$1')).slice(0, 1_000);
}

/** All audit actions and their meaning. The meaning of a name never changes, because old entries keep it. */
export const auditActions = {
  'account.registered': 'The account was created.',
  'sign_in.succeeded': 'A sign-in with the password succeeded and created a key.',
  'session.started': 'The owner signed in on the website. `with` says how.',
  'session.proved':
    'The owner entered the password or used a passkey again on the website, in order to change or approve something. `with` says which.',
  'session.ended': 'The owner signed out, or a session was ended. `sessions` is how many.',
  'key.created':
    'A key was created by another key, by the owner on the website, or by the operator for an account without an email.',
  'key.rotated': 'A key was replaced by a new one with the same name, scopes and expiry.',
  'key.revoked': 'A key was revoked, and the keys below it, if it had any.',
  'key.frozen': 'A key was frozen, and with it the keys below it: they can read but not pay.',
  'key.unfrozen': 'The freeze of a key was ended.',
  'grant.reused':
    'A code or a refresh token of a connected client was used a second time, so the client was disconnected.',
  'keys.revoked': 'All keys of the account were revoked.',
  'sign_in.failed': 'A sign-in with a wrong password failed. At most 20 an hour are logged per network.',
  'second_factor.failed':
    'A code of the second factor was wrong, after the right password or from a key of the account. At most 30 a day are checked.',
  'second_factor.removed': 'The operator removed the second factor.',
  'totp.on': 'Codes of an authenticator app were turned on.',
  'totp.off': 'Codes of an authenticator app were turned off.',
  'recovery_codes.made': 'Ten recovery codes were made. Earlier ones are void.',
  'recovery_code.used': 'A recovery code was used. `left` is how many remain.',
  'passkey.added': 'A passkey was added.',
  'passkey.renamed': 'A passkey was renamed.',
  'passkey.removed': 'A passkey was removed.',
  'password.changed': 'The password was changed with the current password.',
  'password.reset_asked': 'A password reset token was sent to the email, or shown to the operator.',
  'password.reset': 'The password was reset with a token.',
  'email.verified': 'The email was verified with a code.',
  'phone.verified': 'The phone number was verified with a code.',
  'email.changed': 'The email was changed, after codes sent to both addresses were confirmed.',
  'email.yielded':
    'The email, which was never verified, moved to another account whose owner proved that the mailbox is theirs.',
  'phone.removed': 'The phone number was removed.',
  'policy.changed': 'The policy of a key was set, and allows no more than before.',
  'policy.widened': 'The policy of a key was changed or removed, and may allow more than before.',
  'approval.executed': 'The owner approved a payment on the website, and it was made.',
  'approval.denied': 'The owner denied a payment on the website.',
  'webhook.created': 'A webhook was created.',
  'webhook.deleted': 'A webhook was deleted.',
  'merchant.changed': 'A domain was registered, or its orders URL was changed.',
  'merchant.proved': 'A domain was verified. Amounts owed to it were credited to the balance.',
  'merchant.given_up': 'A domain was deleted.',
  'account.closed': 'The owner closed the account. Personal data was erased; the ledger is kept.',
  'account.frozen': 'The account was frozen: it can receive but not send.',
  'account.unfrozen': 'The account was unfrozen and can send again.',
  'tier.changed': 'The rate-limit tier was changed.',
  'duplicate_guard.on': 'Payments that repeat another one are refused from now on.',
  'duplicate_guard.off': 'Payments that repeat another one are no longer refused.',
  'withdrawal.held': 'A withdrawal was held for review by the operator.',
  'withdrawal.released': 'The operator released a held withdrawal.',
  'withdrawal.refunded': 'The operator refunded a held withdrawal.',
  'withdrawal.cancelled': 'A withdrawal was cancelled before it was submitted.',
  'withdrawal_address.default_changed': 'The default withdrawal address was changed.',
  'shipping_address.changed': 'The default shipping address was changed.',
  'withdrawal_address.added': 'An address was added to the allow-list.',
  'withdrawal_address.removed': 'An address was removed from the allow-list.',
  'allow_list.on': 'The allow-list was switched on.',
  'allow_list.ending': 'The allow-list was switched off, effective after a delay.',
  'operator.command': 'The operator started a command.',
  'secret.rotated': 'The operator secret was rotated and all data was re-encrypted.',
} as const;

export type AuditAction = keyof typeof auditActions;

/** Who did it, and from which address. Empty for the service itself. */
export interface AuditActor {
  readonly keyId?: string | undefined;
  /** The id of the owner's session on the pages. It becomes a detail of the entry. */
  readonly session?: string | undefined;
  /** The operator's system user name. */
  readonly operator?: string | undefined;
  readonly address?: string | undefined;
}

/** The sender of a request, with or without a key. */
export type Client = AuditActor & { readonly address: string };

export type KeyHolder = Client & { readonly keyId: string };

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
  const stored = by.session === undefined ? details : { ...details, session: by.session };
  await tx.query(
    `INSERT INTO audit_log (id, account_id, action, key_id, operator, address, details, note)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [newId('aud'), accountId, action, by.keyId, by.operator, by.address, JSON.stringify(stored), note],
  );
}

/** The system user who runs the command; behind sudo, the original user. */
export function operatorName(env: Readonly<Record<string, string | undefined>>): string {
  return env['SUDO_USER'] || nameOfUser();
}

/** In a container the user may have no name. */
function nameOfUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? '?'}`;
  }
}
