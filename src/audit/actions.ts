/** Everything that is written down, and what it means. A name is never given another meaning: old entries keep theirs. */
export const auditActions = {
  'account.registered': 'The account was made.',
  'sign_in.succeeded': 'Somebody signed in with the password, and was given a key.',
  'key.created': 'A key has made another one.',
  'key.revoked': 'A key was ended.',
  'keys.revoked': 'All keys of the account were ended.',
  'sign_in.failed': 'A wrong password was given. At most 20 an hour are written down of one network.',
  'password.changed': 'The password was changed by somebody who knew it.',
  'password.reset_asked': 'A token to set a new password was sent to the email, or shown to the operator.',
  'password.reset': 'A new password was set with a token.',
  'email.verified': 'A code that was sent to the email came back.',
  'phone.verified': 'A code that was sent to the number came back.',
  'email.yielded': 'The email, which was never verified, went to somebody who proved that the mailbox is theirs.',
  'account.frozen': 'The account can receive but not send.',
  'account.unfrozen': 'The account can send again.',
  'tier.changed': 'The account has another rate-limit tier.',
  'operator.command': 'A command of the operator was begun.',
  'secret.rotated': 'Everything was sealed with a new secret.',
} as const;

export type AuditAction = keyof typeof auditActions;
