import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import ipaddr from 'ipaddr.js';
import { getDomain } from 'tldts';
import { isLoopback } from '../loopback.ts';

/**
 * Who answers at an address of a node. Nodes of one witness count as one, because whoever runs it runs them all: every name of this
 * machine, every name below one domain that can be registered, and every name that leads to the same address of a network of one's own.
 * Public addresses are not compared: many providers answer from those of one network that delivers for them.
 */
export function witnessOf(url: string, addresses: readonly string[] = []): string {
  const host = new URL(url).hostname
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '');
  const own = [host, ...addresses].flatMap((one) => ownAddress(one) ?? []);
  if (own.includes(thisMachine) || isThisMachine(host)) return thisMachine;
  if (own[0] !== undefined) return own.toSorted()[0] ?? host;
  return isIP(host) !== 0 ? plain(host).toString() : (getDomain(host) ?? host);
}

/** The witnesses of all these, with what their names lead to now. A name that leads nowhere is only a name. */
export async function lookUpWitnesses(urls: readonly string[]): Promise<(url: string) => string> {
  const known = await Promise.all(
    urls.map(async (url) => {
      const found = await Promise.race([
        lookup(new URL(url).hostname.replace(/^\[(.*)\]$/, '$1'), { all: true }).catch(() => []),
        sleep(patienceMs, [], { ref: false }),
      ]);
      return [
        url,
        witnessOf(
          url,
          found.map(({ address }) => address),
        ),
      ] as const;
    }),
  );
  const witnesses = new Map(known);
  return (url) => witnesses.get(url) ?? witnessOf(url);
}

/** For so long names are looked up when the service starts. */
const patienceMs = 3_000;

const thisMachine = 'this machine';

function isThisMachine(host: string): boolean {
  return isLoopback(host) || host.endsWith('.localhost');
}

/** Of this machine, or in a network of one's own. Undefined for names, and for what is public. */
function ownAddress(text: string): string | undefined {
  if (isIP(text) === 0) return undefined;
  const address = plain(text);
  const range = address.range();
  if (range === 'loopback' || range === 'unspecified') return thisMachine;
  return range === 'unicast' ? undefined : address.toString();
}

/** An address of IPv4 in the clothes of IPv6 is that address. */
const plain = (text: string) => ipaddr.process(text);
