import { lookup, Resolver } from 'node:dns/promises';
import { isIP, Socket } from 'node:net';
import { buildConnector } from 'undici';
import { type DestinationRules, findDestination } from './check-url.ts';
import { hostUnreachable, OutgoingError } from './outgoing-error.ts';
import { isPublicAddress } from './public-address.ts';

export type Lookup = (hostname: string, signal: AbortSignal) => Promise<readonly string[]>;

/**
 * Uses DNS only: neither the hosts file nor search domains. It also avoids libuv's thread pool, where four unanswered
 * lookups could block every sign-in.
 */
export function createDnsLookup({ servers }: { servers?: readonly string[] } = {}): Lookup {
  return async (hostname, signal) => {
    // A new resolver each time, because each reads the system's DNS settings only once.
    const resolver = new Resolver({ timeout: 1_500, tries: 2 });
    if (servers !== undefined) resolver.setServers(servers);
    const cancel = () => resolver.cancel();
    signal.addEventListener('abort', cancel);
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    signal.removeEventListener('abort', cancel);
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  };
}

/** Resolves as the operating system does, for hosts that the operator has named. */
const systemLookup: Lookup = async (hostname) => (await lookup(hostname, { all: true })).map(({ address }) => address);

export interface GuardedConnectOptions {
  readonly rules: DestinationRules;
  readonly lookup: Lookup;
  /** Aborts connections that are being opened. */
  readonly signal: AbortSignal;
  /** Certificates to trust instead of the well-known ones. */
  readonly ca?: string;
  /** Opens the connection to a checked address. A test can replace it. */
  readonly dial?: Dial;
}

export type Dial = buildConnector.connector;

const mostAddresses = 4;

/**
 * Opens all outgoing connections. It resolves the name once, checks all addresses, and connects to one of exactly
 * these, so a second DNS response (rebinding) cannot redirect it.
 */
export function createGuardedConnect({ rules, lookup, signal, ca, dial }: GuardedConnectOptions): Dial {
  const dialWithin = (timeout: number) =>
    dial ??
    buildConnector({
      timeout,
      allowH2: false,
      // A resumed TLS session skips the check of the host name, so no session is cached.
      maxCachedSessions: 0,
      ...(ca !== undefined && { ca }),
    });
  const dialLast = dialWithin(10_000);
  const dialFirst = dialWithin(3_000);

  async function open({ hostname: bare, protocol, port: digits }: buildConnector.Options): Promise<Socket> {
    const hostname = isIP(bare) === 6 ? `[${bare}]` : bare;
    const port = digits === '' ? (protocol === 'https:' ? 443 : 80) : Number(digits);
    const destination = findDestination({ protocol, hostname, port }, rules);
    if (destination.refusal !== undefined) throw new OutgoingError('refused', destination.refusal);

    const addresses = await findAddresses(destination, lookup, signal);
    const servername = isIP(bare) === 0 ? bare : '';
    for (const [index, address] of addresses.entries()) {
      const last = index === addresses.length - 1;
      const options = { protocol, port: String(destination.port), hostname: address, servername };
      try {
        return await openSocket(last ? dialLast : dialFirst, options, signal);
      } catch (error) {
        if (last || signal.aborted) throw error;
      }
    }
    throw hostUnreachable();
  }

  return (options, callback) => {
    open(options).then(
      (socket) => callback(null, socket),
      (error: Error) => callback(error, null),
    );
  };
}

async function findAddresses(
  { host, publicOnly }: { host: string; publicOnly: boolean },
  lookup: Lookup,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const literal = host.startsWith('[') ? host.slice(1, -1) : host;
  const ask = publicOnly ? lookup : systemLookup;
  const addresses = isIP(literal) === 0 ? await ask(host, signal).catch(() => []) : [literal];
  // A single non-public address rejects the host: an honest host has no such mixture.
  if (publicOnly && !addresses.every(isPublicAddress)) throw hostUnreachable();
  // IPv4 first: a machine with only one of the two usually has IPv4.
  return [...new Set(addresses)].sort((a, b) => isIP(a) - isIP(b)).slice(0, mostAddresses);
}

function openSocket(connect: Dial, options: buildConnector.Options, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    // undici returns the socket before it is connected, although its type does not say so.
    const opening: unknown = connect(options, (error, socket) => {
      signal.removeEventListener('abort', giveUp);
      if (error === null) resolve(socket);
      else reject(error);
    });
    const giveUp = () => {
      if (opening instanceof Socket) opening.destroy(new OutgoingError('unreachable', 'The service is stopping.'));
    };
    signal.addEventListener('abort', giveUp);
  });
}
