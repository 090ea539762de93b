/** Everything that is written down, and what it means. A name is never given another meaning: old entries keep theirs. */
export const auditActions = {
  'account.registered': 'The account was made.',
  'account.frozen': 'The account can receive but not send.',
  'account.unfrozen': 'The account can send again.',
  'tier.changed': 'The account has another rate-limit tier.',
  'operator.command': 'A command of the operator was begun.',
  'secret.rotated': 'Everything was sealed with a new secret.',
} as const;

export type AuditAction = keyof typeof auditActions;
