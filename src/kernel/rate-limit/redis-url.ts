import { readSeveralHosts, urlsOfHosts } from '../several-hosts.ts';

const sentinels = /^rediss?\+sentinel:$/;

/**
 * Reads the URL of a Redis, or of the Sentinels that know where it is: `redis+sentinel://user:password@one:26379,two:26379/name/0`. Undefined for
 * anything else. The user and the password are those of Redis; `?sentinel_password=` is that of the Sentinels.
 */
export function readRedisUrl(text: string): string | undefined {
  if (!/^rediss?(\+sentinel)?:\/\//.test(text)) return undefined;
  const read = readSeveralHosts(text);
  if (read === undefined) return undefined;
  const isSentinel = sentinels.test(new URL(read).protocol);
  if (!isSentinel) return read === text ? read : undefined;
  return /^\/[^/]+(\/\d+)?$/.test(new URL(read).pathname) ? read : undefined;
}

/** What the client needs to ask the Sentinels of a URL. Undefined for the URL of a Redis. */
export function sentinelOptions(text: string) {
  const { protocol, username, password, pathname, searchParams } = new URL(text);
  if (!sentinels.test(protocol)) return undefined;
  const [, name = '', db = '0'] = pathname.split('/').map(decodeURIComponent);
  const sentinelPassword = searchParams.get('sentinel_password');
  return {
    sentinels: urlsOfHosts(text).map((one) => {
      const { hostname, port } = new URL(one);
      return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || 26_379) };
    }),
    name,
    db: Number(db),
    ...(username !== '' && { username: decodeURIComponent(username) }),
    ...(password !== '' && { password: decodeURIComponent(password) }),
    ...(sentinelPassword !== null && { sentinelPassword }),
    // The Sentinels get a password and say where Redis is, so they need TLS as much as Redis does.
    ...(protocol === 'rediss+sentinel:' && { tls: {}, enableTLSForSentinelMode: true, sentinelTLS: {} }),
  };
}
