import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import ipaddr from 'ipaddr.js';
import { getDomain, parse } from 'tldts';
import { isLoopback } from '../kernel/loopback.ts';

/** An address of a node, and what its name leads to. */
export interface FoundNode {
  readonly url: string;
  /** Undefined when its name could not be looked up. */
  readonly addresses: readonly string[] | undefined;
}

/** Who answers at a URL. Undefined for a node that might be any of the others, and so counts for nothing beside them. */
export type Witness = (url: string) => string | undefined;

/**
 * Nodes of one witness count as one, because whoever runs it runs them all. Two nodes are one witness when anything that is known of
 * them meets: this machine, a domain that can be registered, an address in a network of one's own. So are two that each meet a third.
 * Public addresses are not compared: many providers answer from those of one network that delivers for them.
 */
export function joinWitnesses(nodes: readonly FoundNode[], machine: readonly string[] = addressesOfMachine()): Witness {
  const ours = new Set(machine.map(plain));
  const marks = new Map(nodes.filter(isKnown).map((node) => [node.url, marksOf(node, ours)]));
  let groups: (readonly string[])[] = [];
  for (const some of marks.values()) {
    const met = groups.filter((group) => group.some((mark) => some.includes(mark)));
    groups = [...groups.filter((group) => !met.includes(group)), [...met.flat(), ...some]];
  }
  return (url) => {
    const mark = marks.get(url)?.[0];
    const group = groups.find((some) => mark !== undefined && some.includes(mark));
    return group?.includes(thisMachine) ? thisMachine : group?.[0];
  };
}

/** The witnesses of the nodes of a chain, with what their names lead to now. */
export async function lookUpWitnesses(urls: readonly string[], find = lookUp): Promise<Witness> {
  return joinWitnesses(await Promise.all(urls.map(async (url) => ({ url, addresses: await find(hostOf(url)) }))));
}

/** For so long names are looked up when the service starts. */
const patienceMs = 3_000;

async function lookUp(host: string): Promise<readonly string[] | undefined> {
  const found = lookup(host, { all: true }).catch(() => undefined);
  const inTime = await Promise.race([found, sleep(patienceMs, undefined, { ref: false })]);
  return inTime?.map(({ address }) => address);
}

/** A public name says by its domain who answers. One of a network of one's own says nothing until it leads somewhere. */
function isKnown({ url, addresses }: FoundNode): boolean {
  const host = hostOf(url);
  return addresses !== undefined || isIP(host) !== 0 || isThisMachine(host) || isPublicName(host);
}

function isPublicName(host: string): boolean {
  const { domain, isIcann, publicSuffix } = parse(host);
  return domain !== null && isIcann === true && publicSuffix !== 'home.arpa';
}

/** Everything by which a node can be told to be another one. */
function marksOf({ url, addresses = [] }: FoundNode, ours: ReadonlySet<string>): readonly string[] {
  const host = hostOf(url);
  const isAddress = isIP(host) !== 0;
  const found = [...(isAddress ? [host] : []), ...addresses].map(plain);
  const own = found.flatMap((address) => (ours.has(address) ? [thisMachine] : (ownAddress(address) ?? [])));
  if (isThisMachine(host)) own.push(thisMachine);
  return isAddress ? [plain(host), ...own] : [getDomain(host) ?? host, ...own];
}

const thisMachine = 'this machine';

function hostOf(url: string): string {
  return new URL(url).hostname
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.+$/, '');
}

function isThisMachine(host: string): boolean {
  return isLoopback(host) || host.endsWith('.localhost');
}

function addressesOfMachine(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((several = []) => several.map(({ address }) => address));
}

/** Of this machine, or in a network of one's own. Undefined for what is public. */
function ownAddress(address: string): string | undefined {
  const range = ipaddr.parse(address).range();
  if (range === 'loopback' || range === 'unspecified') return thisMachine;
  return range === 'unicast' ? undefined : address;
}

/** An address has one spelling, whichever link it is reached by. One of IPv4 in the clothes of IPv6 is that address. */
function plain(text: string): string {
  const address = ipaddr.process(text.replace(/%.*$/, ''));
  const range = address.range();
  const bytes = address.toByteArray();
  // NAT64, and what translators between the two have used before.
  if (range === 'rfc6052' || range === 'rfc6145') return ipaddr.fromByteArray(bytes.slice(12)).toString();
  return range === '6to4' ? ipaddr.fromByteArray(bytes.slice(2, 6)).toString() : address.toString();
}
