import { email, handle, toE164 } from '../../accounts/fields.ts';
import { type AccountIdentifier, findAccount } from '../../accounts/find-account.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { httpErrors } from '../../kernel/http/errors.ts';

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

const longest = 320;

/** Parses a handle, an email or a phone number in any usual spelling. Undefined when the text is none of them. */
export function readRecipient(text: string): AccountIdentifier | undefined {
  if (text.length > longest) return undefined;
  const asHandle = handle.safeParse(text);
  if (asHandle.success) return { handle: asHandle.data };
  if (text.includes('@')) {
    const asEmail = email.safeParse(text);
    return asEmail.success ? { email: asEmail.data } : undefined;
  }
  const phone = toE164(text);
  return phone === undefined ? undefined : { phone };
}

const rule = 'must be a handle, an email or a phone number with country code';

export function recipientOrRefuse(text: string): AccountIdentifier {
  const recipient = readRecipient(text);
  if (recipient !== undefined) return recipient;
  throw httpErrors.invalid_request(`to ${rule}.`, { errors: [{ path: 'to', message: rule }] });
}
