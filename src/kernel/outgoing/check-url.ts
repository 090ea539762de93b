import { isIPv4 } from 'node:net';
import { parseUrl } from '../text/parse-url.ts';
import { type DestinationRules, findDestination } from './destination.ts';

export type CheckedUrl = { readonly refusal: string } | { readonly refusal?: never; readonly url: URL };

const longest = 2_048;

/** Refuses a URL by its form alone. The addresses that the name resolves to are checked when the connection is opened. */
export function checkUrl(text: string, rules: DestinationRules): CheckedUrl {
  if (text.length > longest) return { refusal: `The URL must not be longer than ${longest} characters.` };
  // The URL parser would silently drop or replace these, so the checked URL would differ from the written one; or they
  // are invisible.
  if (/[\p{Cc}\p{Cs}\p{Cf}\p{Co}\p{Z}]|(?!\ufe0f)\p{Default_Ignorable_Code_Point}/u.test(text)) {
    return { refusal: 'The URL must not contain spaces, line breaks or control characters.' };
  }
  const [, scheme = '', authority = ''] = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)/i.exec(text) ?? [];
  if (!/^https?$/i.test(scheme)) return { refusal: 'The URL must begin with https://.' };
  if (text.includes('\\')) return { refusal: 'The URL must not contain a backslash.' };
  if (authority.includes('@')) return { refusal: 'The URL must not contain a user name or a password.' };
  if (authority === '' || authority.includes('%') || parseUrl(text) === undefined)
    return { refusal: 'The URL is not valid.' };

  const url = new URL(text);
  if (url.href.length > longest) return { refusal: `The URL must not be longer than ${longest} characters.` };
  const written = authority.replace(/:\d*$/, '');
  if (isIPv4(url.hostname) && written !== url.hostname) {
    return { refusal: 'An IPv4 address must be written as four decimal numbers.' };
  }
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  const { refusal } = findDestination({ protocol: url.protocol, hostname: url.hostname, port }, rules);
  return refusal === undefined ? { url } : { refusal };
}
