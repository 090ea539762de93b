/**
 * How many of each an account may create per day (UTC) without paying. An honest account stays far below; the request
 * rate alone would allow 86,400 a day, and 432,000 on the pro tier. docs/security.md derives the disk usage from
 * these.
 * Only creation is counted. Undoing it (revoking a key, deleting a webhook, removing an address) is never refused, so
 * a thief who uses up a cap cannot keep the owner from undoing the damage. It is bounded by what was created.
 */
export const dailyCaps = {
  invoices: { most: 1_000, named: 'invoices' },
  fundingLinks: { most: 500, named: 'funding links' },
  keys: { most: 500, named: 'API keys' },
  /** Per network, so that a thief elsewhere cannot lock the owner out. Once a minute is 1,440. */
  signIns: { most: 2_000, named: 'sign-ins' },
  /** Per account, from all networks together. Beyond the cap a wrong password is still refused, but no longer recorded. */
  failedSignIns: { most: 1_000, named: 'failed sign-ins' },
  webhooks: { most: 200, named: 'webhooks' },
  webhookTests: { most: 500, named: 'test events' },
  webhookRetries: { most: 1_000, named: 'repeated deliveries' },
  /** Each search keeps a page of up to 24 KB for a day. GET /nano/search is paid for and not counted. */
  searches: { most: 2_000, named: 'searches' },
  /** Saved addresses, the allow-list and the tier. */
  settings: { most: 200, named: 'changes of the account' },
  domains: { most: 200, named: 'changes of domains' },
  /** The wallet is created once, but the response is stored for each Idempotency-Key. */
  walletRequests: { most: 500, named: 'requests for a wallet with an Idempotency-Key' },
  /** Orders that the buyer must complete at the shop. No money is held for them. */
  handedOverOrders: { most: 200, named: 'orders that need their buyer' },
} as const;

export type CappedKind = keyof typeof dailyCaps;
