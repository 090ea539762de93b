import { isIP, Socket } from 'node:net';
import { buildConnector } from 'undici';
import { type DestinationRules, findDestination } from './destination.ts';
import { type Lookup, lookUpLikeTheSystem } from './lookup.ts';
import { nobodyThere, OutgoingError } from './outgoing-error.ts';
import { isPublicAddress } from './public-address.ts';

export interface GuardedConnectOptions {
  readonly rules: DestinationRules;
  readonly lookup: Lookup;
  /** Ends what is still being opened. */
  readonly signal: AbortSignal;
  /** Certificates to trust instead of the well-known ones. */
  readonly ca?: string;
  /** Opens the connection to an address that was checked; a test sees here what would be dialled. */
  readonly dial?: Dial;
}

export type Dial = buildConnector.connector;

const mostAddresses = 4;

/**
 * Opens every connection of the guard. The name is resolved once, all its addresses are checked, and one of exactly these
 * is dialled as a number: there is no second resolution that could answer differently.
 */
export function createGuardedConnect({
  rules,
  lookup,
  signal,
  ca,
  dial,
}: GuardedConnectOptions): buildConnector.connector {
  const dialWithin = (timeout: number) =>
    dial ??
    buildConnector({
      timeout,
      allowH2: false,
      // A resumed TLS session is not compared with the host's name again, so none is kept.
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
    throw nobodyThere();
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
  const ask = publicOnly ? lookup : lookUpLikeTheSystem;
  const addresses = isIP(literal) === 0 ? await ask(host, signal).catch(() => []) : [literal];
  // One that is not public spoils all: an honest host has no reason for such a mixture.
  if (publicOnly && !addresses.every(isPublicAddress)) throw nobodyThere();
  // IPv4 first: where a machine has only one of the two, it is usually this.
  return [...new Set(addresses)].sort((a, b) => isIP(a) - isIP(b)).slice(0, mostAddresses);
}

function openSocket(connect: Dial, options: buildConnector.Options, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    // It returns the socket before there is a connection, though its type does not say so.
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
