import type { AccountId } from './account-id.ts';

const mostKnown = 500_000;

/** Accounts that a commit has shown to exist. Accounts are never deleted, so an entry never becomes wrong. */
export interface KnownAccounts {
  has(account: AccountId): boolean;
  /** Only after the commit: a rollback also undoes an opened account. */
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
