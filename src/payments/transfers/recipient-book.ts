import { type AccountIdentifier, findAccount } from '../../accounts/find-account.ts';
import type { Queryable } from '../../kernel/db/database.ts';

const mostRemembered = 100_000;

export interface RecipientBook {
  find(by: AccountIdentifier): bigint | undefined | Promise<bigint | undefined>;
}

/** Caches handles only, because emails and phone numbers can move to another account. */
export function createRecipientBook(db: Queryable): RecipientBook {
  const ownerOf = new Map<string, bigint>();

  async function ask(by: AccountIdentifier): Promise<bigint | undefined> {
    const found = await findAccount(db, by);
    if (found !== undefined && 'handle' in by) {
      if (ownerOf.size >= mostRemembered) ownerOf.clear();
      ownerOf.set(by.handle, found.id);
    }
    return found?.id;
  }

  return {
    find: (by) => ('handle' in by ? ownerOf.get(by.handle) : undefined) ?? ask(by),
  };
}
