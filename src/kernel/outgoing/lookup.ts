import { lookup, Resolver } from 'node:dns/promises';

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
export const lookUpLikeTheSystem: Lookup = async (hostname) =>
  (await lookup(hostname, { all: true })).map(({ address }) => address);
