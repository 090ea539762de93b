import { parseUrl } from '../../kernel/text/parse-url.ts';

const longest = 2_000;

/** A link that a shop has named and a person may follow. Undefined when it leads nowhere on the web. */
export function safeLink(text: string | undefined): string | undefined {
  const url = text === undefined || text.length > longest ? undefined : parseUrl(text);
  if (url === undefined) return undefined;
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return undefined;
  // Percent-encoding can make a link nine times as long.
  if (url.href.length > longest) return undefined;
  return url.username === '' && url.password === '' ? url.href : undefined;
}
