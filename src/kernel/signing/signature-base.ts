export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** What a signature can be about. */
export interface RequestParts {
  readonly method: string;
  /** Host and port, the port only where it is not the usual one. */
  readonly authority: string;
  /** Path and query as they stand in the first line of the request. */
  readonly target: string;
  readonly headers: Headers;
}

const pathOf = (target: string) => target.split('?', 1)[0] ?? '';

/** What follows the path, with its question mark; nothing when there is none. */
export const queryOf = (target: string) => target.slice(pathOf(target).length);

/** The text that is signed (RFC 9421, 2.5); undefined when a part is named that is unknown or not there. */
export function signatureBase(
  request: RequestParts,
  components: readonly string[],
  signatureParameters: string,
): string | undefined {
  const lines: string[] = [];
  for (const name of components) {
    const value = name.startsWith('@') ? derived(request, name) : headerOf(request.headers, name);
    // Only what can be written in a line of its own: a line break would let one part speak for the next.
    if (value === undefined || !/^[\t -~]*$/.test(value)) return undefined;
    lines.push(`"${name}": ${value}`);
  }
  return [...lines, `"@signature-params": ${signatureParameters}`].join('\n');
}

/** A header's value however its name is written, several of them as one (RFC 9421, 2.1). */
export function headerOf(headers: Headers, name: string): string | undefined {
  const values = Object.entries(headers)
    .filter(([key, value]) => value !== undefined && key.toLowerCase() === name)
    .flatMap(([, value]) => (typeof value === 'string' ? [value] : (value ?? [])));
  return values.length === 0 ? undefined : values.map((value) => value.trim()).join(', ');
}

function derived({ method, authority, target }: RequestParts, name: string): string | undefined {
  if (name === '@method') return method;
  if (name === '@authority') return authority.toLowerCase();
  if (name === '@path') return pathOf(target) || '/';
  if (name === '@query') return queryOf(target) || '?';
  if (name === '@request-target') return target;
  return undefined;
}
