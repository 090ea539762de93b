import { parseUrl } from './text/parse-url.ts';

/** In a URL that the service has read: the hosts beside the first one. Other parsers of URLs know one host only. */
const otherHosts = 'other_hosts';

/**
 * Reads a URL that may name several hosts, such as `postgres://ada@one:5432,two/db`. Returns a URL with the first host, which carries
 * the others in its query; undefined where it is no URL.
 */
export function readSeveralHosts(text: string): string | undefined {
  const [, start = '', hosts = '', rest = ''] = /^([a-z+]+:\/\/(?:[^/?#]*@)?)([^@/?#]*)(.*)$/s.exec(text) ?? [];
  const [first = '', ...others] = hosts.split(',');
  const url = parseUrl(`${start}${first}${rest}`);
  if (url === undefined || url.searchParams.has(otherHosts)) return undefined;
  if (others.length === 0) return text;
  if ([first, ...others].some((host) => !parseUrl(`${start}${host}${rest}`)?.hostname)) return undefined;
  url.searchParams.set(otherHosts, others.join(','));
  return url.href;
}

/** One URL for each host. */
export function urlsOfHosts(text: string): readonly string[] {
  const url = parseUrl(text);
  const others = url?.searchParams.get(otherHosts);
  if (url === undefined || !others) return [text];
  url.searchParams.delete(otherHosts);
  const { href } = url;
  return [href, ...others.split(',').map((host) => withHost(href, host))];
}

function withHost(href: string, host: string): string {
  const url = new URL(href);
  url.port = '';
  url.host = host;
  return url.href;
}
