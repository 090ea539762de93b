const defaultPorts: Readonly<Record<string, number>> = {
  'postgres:': 5432,
  'postgresql:': 5432,
  'redis:': 6379,
  'rediss:': 6379,
  'http:': 80,
  'https:': 443,
};

/** The ports of our own services, which no user's URL may reach. */
export function portsOf(urls: readonly string[]): readonly number[] {
  const ports = urls.flatMap((text) => {
    const url = new URL(text);
    // A PostgreSQL URL may name the port in its query.
    const named = [url.port, url.searchParams.get('port') ?? ''].filter((port) => /^\d+$/.test(port)).map(Number);
    return named.length > 0 ? named : [defaultPorts[url.protocol] ?? 0];
  });
  return [...new Set(ports)];
}
