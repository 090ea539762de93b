import { lookup, Resolver } from 'node:dns/promises';

/** All addresses of a host name. Gives up when the signal comes. */
export type Lookup = (hostname: string, signal: AbortSignal) => Promise<readonly string[]>;

/**
 * Asks DNS and nothing else: not the hosts file, no search domains. It also keeps off the thread pool that the system's
 * resolver would use, where four names that nobody answers for could hold up every sign-in.
 */
export function createDnsLookup({ servers }: { servers?: readonly string[] } = {}): Lookup {
  return async (hostname, signal) => {
    // A new one each time, because each reads the machine's settings only once.
    const resolver = new Resolver({ timeout: 1_500, tries: 2 });
    if (servers !== undefined) resolver.setServers(servers);
    const cancel = () => resolver.cancel();
    signal.addEventListener('abort', cancel);
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    signal.removeEventListener('abort', cancel);
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  };
}

/** As every program on this machine finds a host: for those that the operator has named. */
export const lookUpLikeTheSystem: Lookup = async (hostname) =>
  (await lookup(hostname, { all: true })).map(({ address }) => address);
