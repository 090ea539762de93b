import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import ipaddr from 'ipaddr.js';
import { getDomain, parse } from 'tldts';
import { isLoopback } from '../kernel/loopback.ts';

export interface FoundNode {
  readonly url: string;
  /** Undefined when the name could not be looked up. */
  readonly addresses: readonly string[] | undefined;
}

/** Who runs the node at a URL. Undefined when it may be the same as any other node, so that it confirms nothing. */
export type Witness = (url: string) => string | undefined;

/**
 * Groups nodes into witnesses, because nodes of one operator confirm nothing about each other. Two nodes are one
 * witness when they share this machine, a registrable domain or a private address, directly or through a third node.
 * Public addresses are not compared: many providers answer from the same CDN.
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

/** Like `joinWitnesses`, with the addresses that the names resolve to now. */
export async function lookUpWitnesses(urls: readonly string[], find = lookUp): Promise<Witness> {
  return joinWitnesses(await Promise.all(urls.map(async (url) => ({ url, addresses: await find(hostOf(url)) }))));
}

/** Start-up waits no longer than this for DNS. */
const patienceMs = 3_000;

async function lookUp(host: string): Promise<readonly string[] | undefined> {
  const found = lookup(host, { all: true }).catch(() => undefined);
  const inTime = await Promise.race([found, sleep(patienceMs, undefined, { ref: false })]);
  return inTime?.map(({ address }) => address);
}

/** A public name says by its domain who runs the node. A private name says nothing until it resolves. */
function isKnown({ url, addresses }: FoundNode): boolean {
  const host = hostOf(url);
  return addresses !== undefined || isIP(host) !== 0 || isThisMachine(host) || isPublicName(host);
}

function isPublicName(host: string): boolean {
  const { domain, isIcann, publicSuffix } = parse(host);
  return domain !== null && isIcann === true && publicSuffix !== 'home.arpa';
}

/** Everything that may identify two nodes as one. */
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

/** This machine, or a private address. Undefined for a public address. */
function ownAddress(address: string): string | undefined {
  const range = ipaddr.parse(address).range();
  if (range === 'loopback' || range === 'unspecified') return thisMachine;
  return range === 'unicast' ? undefined : address;
}

/** One spelling per address, without the zone. An IPv4 address embedded in IPv6 becomes that IPv4 address. */
function plain(text: string): string {
  const address = ipaddr.process(text.replace(/%.*$/, ''));
  const range = address.range();
  const bytes = address.toByteArray();
  // NAT64 and its predecessor SIIT.
  if (range === 'rfc6052' || range === 'rfc6145') return ipaddr.fromByteArray(bytes.slice(12)).toString();
  return range === '6to4' ? ipaddr.fromByteArray(bytes.slice(2, 6)).toString() : address.toString();
}
