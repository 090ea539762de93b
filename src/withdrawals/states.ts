/** What a withdrawal goes through: each state with those that may come next. The database refuses any other step. */
export const withdrawalStates = {
  /** The money has left the balance; nobody was asked yet. */
  queued: ['awaiting_liquidity', 'held'],
  /** The address is suspicious or the account is frozen: a person decides. */
  held: ['awaiting_liquidity', 'failed'],
  /** Cleared, and sent as soon as the treasury holds enough. */
  awaiting_liquidity: ['sending', 'held'],
  /** The wallet provider was, or is about to be, asked under the withdrawal's own key. */
  sending: ['complete', 'failed'],
  complete: [],
  /** The whole amount is back where it came from. */
  failed: [],
} as const satisfies Record<string, readonly string[]>;

export type WithdrawalStatus = keyof typeof withdrawalStates;

export const withdrawalStatuses = Object.keys(withdrawalStates) as [WithdrawalStatus, ...WithdrawalStatus[]];
