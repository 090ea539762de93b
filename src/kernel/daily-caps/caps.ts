/**
 * How many of each an account may write on a day (UTC) without paying for it. An honest account stays far below; the request rate
 * alone would allow 86,400 a day, and 432,000 on the pro tier. docs/security.md has the bytes that follow from these.
 *
 * Only what makes something is counted. What takes it back (revoking a key, deleting a webhook, removing an address) is never refused,
 * so a thief who uses up a cap cannot keep the owner from undoing it, and there is no more of it than of what was made.
 */
export const dailyCaps = {
  invoices: { most: 1_000, named: 'invoices' },
  fundingLinks: { most: 500, named: 'funding links' },
  keys: { most: 500, named: 'API keys' },
  /** For each network, so that a thief elsewhere cannot keep the owner out. Once a minute is 1,440. */
  signIns: { most: 2_000, named: 'sign-ins' },
  /** Of an account, from all networks together. Beyond these a wrong password is refused as always, and not written down. */
  failedSignIns: { most: 1_000, named: 'failed sign-ins' },
  webhooks: { most: 200, named: 'webhooks' },
  webhookTests: { most: 500, named: 'test events' },
  webhookRetries: { most: 1_000, named: 'repeated deliveries' },
  /** Each keeps a page of up to 24 KB for a day. GET /nano/search is paid for, and not counted. */
  searches: { most: 2_000, named: 'searches' },
  /** Saved addresses, the allow-list and the tier. */
  settings: { most: 200, named: 'changes of the account' },
  domains: { most: 200, named: 'changes of domains' },
  /** Requests for a wallet with an Idempotency-Key: the wallet is there once, the answer is kept for each key. */
  walletRequests: { most: 500, named: 'requests for a wallet with an Idempotency-Key' },
  /** Orders that the shop wants its buyer for. No money is set aside for them. */
  handedOverOrders: { most: 200, named: 'orders that need their buyer' },
} as const;

export type CappedKind = keyof typeof dailyCaps;
