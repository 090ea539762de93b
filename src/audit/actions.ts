/** Everything that is written down, and what it means. A name is never given another meaning: old entries keep theirs. */
export const auditActions = {
  'account.registered': 'The account was made.',
  'account.frozen': 'The account can receive but not send.',
  'account.unfrozen': 'The account can send again.',
  'tier.changed': 'The account has another rate-limit tier.',
  'withdrawal.held': 'A withdrawal waits for the operator.',
  'withdrawal.released': 'The operator let a held withdrawal go.',
  'withdrawal.refunded': 'The operator gave the money of a held withdrawal back.',
  'withdrawal.cancelled': 'A withdrawal was called back before it was sent.',
  'withdrawal_address.default_changed': 'Withdrawals that name no address go to another one.',
  'withdrawal_address.added': 'An address was added to the allow-list.',
  'withdrawal_address.removed': 'An address was taken off the allow-list.',
  'allow_list.on': 'Money leaves for the addresses of the allow-list alone.',
  'allow_list.ending': 'The allow-list will be off after a delay.',
  'operator.command': 'A command of the operator was begun.',
  'secret.rotated': 'Everything was sealed with a new secret.',
} as const;

export type AuditAction = keyof typeof auditActions;
