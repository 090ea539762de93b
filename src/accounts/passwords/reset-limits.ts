/** How many tokens for new passwords are mailed. Beside `perMailbox`, 0 is without a limit. */
export interface ResetLimits {
  /** Asked for from one address network on a day (UTC), whether there was anybody to mail them to or not. */
  readonly perNetwork: number;
  /** Within an hour to one mailbox; further ones only every quarter of an hour. */
  readonly perMailbox: number;
  /** On a day, to all mailboxes. */
  readonly inAll: number;
}
