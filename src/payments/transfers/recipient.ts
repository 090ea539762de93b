import { email, handle, toE164 } from '../../accounts/fields.ts';
import type { AccountIdentifier } from '../../accounts/find-account.ts';
import { httpErrors } from '../../kernel/http/errors.ts';

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
