import { isIP } from 'node:net';
import { email, handle, toE164, withdrawalAddress } from '../accounts/fields.ts';
import { parseUrl } from '../kernel/text/parse-url.ts';

type NameKind = 'handle' | 'email' | 'phone' | 'address' | 'host';

/** A counterparty as a rule names it, in the one spelling that is stored and compared. */
export interface CounterpartyName {
  readonly kind: NameKind;
  readonly text: string;
}

/** Undefined when the text is no handle, email, phone number, address or domain. */
export function readCounterpartyName(given: string): CounterpartyName | undefined {
  const text = given.trim();
  const asHandle = handle.safeParse(text);
  if (asHandle.success) return { kind: 'handle', text: asHandle.data };
  if (/^0x/i.test(text)) {
    const asAddress = withdrawalAddress.safeParse(text.replace(/^0X/, '0x'));
    return asAddress.success ? { kind: 'address', text: asAddress.data.toLowerCase() } : undefined;
  }
  if (text.includes('@')) {
    const asEmail = email.safeParse(text);
    return asEmail.success ? { kind: 'email', text: asEmail.data } : undefined;
  }
  if (text.startsWith('+')) {
    const phone = toE164(text);
    return phone === undefined ? undefined : { kind: 'phone', text: phone };
  }
  const host = readHost(text);
  return host === undefined ? undefined : { kind: 'host', text: host };
}

/** Of a stored name, which has its one spelling already. */
export function kindOfName(text: string): NameKind {
  if (/^PA-[A-Z0-9]{8}$/.test(text)) return 'handle';
  if (/^0x[0-9a-f]{40}$/.test(text)) return 'address';
  if (text.includes('@')) return 'email';
  return text.startsWith('+') ? 'phone' : 'host';
}

/** A domain or an IP address, in lower case, with a port only if it is not that of https. */
function readHost(text: string): string | undefined {
  if (!/^[^\s/?#\\@]+$/.test(text)) return undefined;
  const url = parseUrl(`https://${text}`);
  if (url === undefined || url.username !== '' || url.pathname !== '/') return undefined;
  const bare = url.hostname.replace(/^\[|\]$/g, '');
  const isName = /^(?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\.)*[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/.test(bare);
  // A word without a point is a typing error more often than a host, but for this machine.
  const asGiven = text.replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
  // Other spellings of an IPv4 address, such as 127.1, are refused: digits are more often a phone number without its country code.
  if (isIP(bare) === 4 && isIP(asGiven) !== 4) return undefined;
  if (isIP(bare) === 0 && (!isName || (!bare.includes('.') && bare !== 'localhost'))) return undefined;
  return url.host;
}
