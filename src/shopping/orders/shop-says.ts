import { parseUrl } from '../../kernel/text/parse-url.ts';

const longest = 2_000;

/** A shop's link that is safe to follow; undefined if it is not a web address. */
export function safeLink(text: string | undefined): string | undefined {
  const url = text === undefined || text.length > longest ? undefined : parseUrl(text);
  if (url === undefined) return undefined;
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return undefined;
  // Percent-encoding can make a link nine times longer.
  if (url.href.length > longest) return undefined;
  return url.username === '' && url.password === '' ? url.href : undefined;
}

/**
 * Quotes a shop inside a sentence of ours. Quotation marks are replaced, so that a shop cannot end the quotation and speak to the
 * buyer or the buyer's agent in our voice.
 */
export function quoteShop(words: string): string {
  const quoted = words.trim().replace(/["“”„‟«»＂〝〞〟]/g, "'");
  return `The shop says: "${quoted}"${/[.!?…。！？]$/.test(quoted) ? '' : '.'}`;
}
