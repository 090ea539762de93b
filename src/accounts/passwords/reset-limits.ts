/** Limits on mailed reset tokens. 0 is unlimited, except for `perMailbox`. */
export interface ResetLimits {
  /** Requests per day (UTC) from one network, whether the email has an account or not. */
  readonly perNetwork: number;
  /** Per hour to one mailbox; beyond that, one every 15 minutes. */
  readonly perMailbox: number;
  /** Per day, to all mailboxes. */
  readonly inAll: number;
}
