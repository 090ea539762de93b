/** Shorter parts such as `v2` or `eth` are no secret, and removing them would leave holes in every text. */
const leastSecret = 6;

/**
 * Removes everything that may be secret in a node's URL from a text: the URL itself, its path and query, each segment
 * and value, user name and password. A node may repeat any of them in its answer, in another case or encoded.
 */
export function hideSecretsOf(address: string): (text: string) => string {
  const url = new URL(address);
  const { pathname, search, username, password, searchParams, origin } = url;
  const wholes = [`${pathname}${search}`, pathname].filter((whole) => whole.length > 1);
  const parts = [
    ...pathname.split('/'),
    ...searchParams.values(),
    ...search.slice(1).split(/[&=]/),
    username,
    password,
    Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64'),
  ].filter((part) => part.length >= leastSecret);
  const shown = (text: string) => text.replaceAll(address, `${origin}/…`).replaceAll(url.href, `${origin}/…`);
  const secrets = new Set([...wholes, ...parts].flatMap((text) => [text, decoded(text), encodeURIComponent(text)]));
  if (secrets.size === 0) return (text) => text;
  const longestFirst = [...secrets].toSorted((one, other) => other.length - one.length);
  const anySecret = new RegExp(longestFirst.map(literally).join('|'), 'gi');
  return (text) => shown(text).replaceAll(anySecret, '…');
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function literally(text: string): string {
  return text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
}
