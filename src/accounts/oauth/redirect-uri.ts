import { parseUrl } from '../../kernel/text/parse-url.ts';

const loopbackHosts = new Set(['127.0.0.1', '[::1]', 'localhost']);

/** Schemes that would run in the browser or read files instead of opening the client. */
const neverSchemes = new Set(
  'about: blob: chrome: data: file: filesystem: ftp: http: intent: javascript: mailto: sms: tel: vbscript: view-source: ws: wss:'.split(
    ' ',
  ),
);

const longest = 500;

/**
 * What comes before the path, written as browsers write it. Other characters, such as ";" and ",", are allowed in a host by the URL
 * parser, and would begin something new in the headers of the page.
 */
const plainOrigin = /^https?:\/\/(?:[a-z\d_-]+(?:\.[a-z\d_-]+)*|\[[\da-f:.]+\])(?::\d+)?(?:[/?]|$)/i;

function isLoopback({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && loopbackHosts.has(hostname);
}

/** Why a client may not be sent codes there. Undefined when it may. */
export function explainRedirectUri(text: string): string | undefined {
  const url = parseUrl(text);
  if (url === undefined || text.length > longest || !/^[\x21-\x7e]+$/.test(text) || /["'<>\\^`{|}]/.test(text))
    return `must be an absolute URI of at most ${longest} characters`;
  if (text.includes('#')) return 'must not have a fragment';
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or a password';
  if (url.protocol === 'https:' || isLoopback(url))
    return plainOrigin.test(text) ? undefined : 'must have a plain host, such as app.example.com';
  return neverSchemes.has(url.protocol)
    ? 'must begin with https://, with http:// on this computer (127.0.0.1, [::1] or localhost), or with the scheme of an app'
    : undefined;
}

/** Equal as text. An app on this computer may listen on any port (RFC 8252). */
export function isRegistered(registered: readonly string[], given: string): boolean {
  return registered.includes(given) || registered.some((one) => isSameButPort(one, given));
}

function isSameButPort(registered: string, given: string): boolean {
  const [one, other] = [parseUrl(registered), parseUrl(given)];
  if (one === undefined || other === undefined || !isLoopback(one) || !isLoopback(other)) return false;
  if (explainRedirectUri(given) !== undefined) return false;
  one.port = '';
  other.port = '';
  return one.href === other.href;
}

/** For a person: the host, or the app that a scheme opens. */
export function describeRedirect(text: string): string {
  const url = new URL(text);
  if (isLoopback(url)) return 'this device';
  return url.protocol === 'https:' ? url.host : `the app for ${url.protocol}`;
}
