/**
 * Reads an address; undefined when it is none. `URL.canParse` must not be asked instead: once a Node of the 20 line has compiled
 * a busy caller of it, it refuses every address with a letter such as ü in it.
 */
export function parseUrl(text: string, base?: string | URL): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}
