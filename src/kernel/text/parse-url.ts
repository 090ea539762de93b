/**
 * Returns undefined for an invalid URL. Do not use `URL.canParse`: in Node 20, once the JIT has compiled a hot caller,
 * it rejects every URL with a non-ASCII letter such as ü.
 */
export function parseUrl(text: string, base?: string | URL): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}
