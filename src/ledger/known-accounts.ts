import type { AccountId } from './account-id.ts';

const mostKnown = 500_000;

/** Accounts of which we have seen a commit. They are never deleted, so nothing here can become false. */
export interface KnownAccounts {
  has(account: AccountId): boolean;
  /** Only after the commit: an account opened by a transaction that rolls back was never there. */
  add(accounts: readonly AccountId[]): void;
}

export function createKnownAccounts(): KnownAccounts {
  const known = new Set<AccountId>();
  return {
    has: (account) => known.has(account),
    add(accounts) {
      if (known.size + accounts.length > mostKnown) known.clear();
      for (const account of accounts) known.add(account);
    },
  };
}
