import { isIP } from 'node:net';
import type { Clock } from '../../../src/kernel/clock.ts';
import { readDictionary } from '../../../src/kernel/signing/structured-fields.ts';
import { verifyRequest } from '../../../src/kernel/signing/verify-request.ts';
import { parseUrl } from '../../../src/kernel/text/parse-url.ts';
import { createExpiringCache } from '../../../src/shopping/search/expiring-cache.ts';
import type { ShopMessage } from '../message.ts';
import { checkoutCapability, type Fields, fieldsOf, fulfillmentCapability, type UcpVersion } from '../ucp-versions.ts';
import { noSession, protocolError } from './refusal-reply.ts';

export interface CheckAgentOptions {
  readonly clock: Clock;
  readonly profiles: ReturnType<typeof createAgentProfiles>;
  /** The shop's hosts. */
  readonly authorities: readonly string[];
}

/** The maximum age of a signature. */
const maxAgeMs = 300_000;

/** Admits an agent whose profile lists the checkout. */
export async function checkAgent(message: ShopMessage, version: UcpVersion, agents: CheckAgentOptions): Promise<void> {
  await checkProfile(profileUrlOf(message), version, agents);
}

/** For MCP, where the arguments name the profile. */
export async function checkProfile(url: unknown, version: UcpVersion, { profiles }: CheckAgentOptions): Promise<void> {
  if (typeof url !== 'string')
    throw protocolError('invalid_profile_url', 'meta["ucp-agent"].profile must name a profile.');
  requireCapabilities(await profiles.read(url, version), version);
}

/** Also requires a valid signature of this request. */
export async function checkSignedAgent(
  message: ShopMessage,
  version: UcpVersion,
  { clock, profiles, authorities }: CheckAgentOptions,
): Promise<void> {
  const url = profileUrlOf(message);
  const verify = ({ keys }: AgentProfile) =>
    verifyRequest(
      { method: message.method, target: message.target, headers: message.headers, body: message.bytes },
      { keys, authorities, now: clock.now(), maxAgeMs, requires: ['ucp-agent', 'idempotency-key'] },
    );
  let profile = await profiles.read(url, version);
  let verified = await verify(profile);
  if (!verified.ok && verified.code === 'key_not_found') {
    // The agent may have a new key.
    profile = await profiles.readAgain(url, version);
    verified = await verify(profile);
  }
  if (!verified.ok) throw protocolError(verified.code, `The signature does not pass: ${verified.detail}.`);
  requireCapabilities(profile, version);
}

function profileUrlOf({ headers }: ShopMessage): string {
  const header = headers['ucp-agent'];
  const profile = typeof header === 'string' ? readDictionary(header)?.get('profile')?.value : undefined;
  if (typeof profile === 'string') return profile;
  throw protocolError('invalid_profile_url', 'UCP-Agent must say profile="…".');
}

/** An agent without the fulfillment capability cannot send an address, so it cannot buy here. */
function requireCapabilities({ capabilities }: AgentProfile, version: UcpVersion): void {
  const missing = [checkoutCapability, fulfillmentCapability].filter((name) => {
    const entries = capabilities[name];
    return !Array.isArray(entries) || !entries.some((entry) => fieldsOf(entry)['version'] === version);
  });
  if (missing.length === 0) return;
  throw noSession(version, {
    code: 'capabilities_incompatible',
    content: `The profile does not list ${missing.join(' and ')} of ${version}.`,
    severity: 'unrecoverable',
  });
}

interface AgentProfile {
  readonly capabilities: Fields;
  /** Unchecked. */
  readonly keys: readonly unknown[];
}

const keepMs = 60_000;
const mostBytes = 256 * 1024;
const patienceMs = 3_000;

/** Profiles of agents. The shop trusts only profiles on this machine and at the service's PUBLIC_URL. */
export function createAgentProfiles(clock: Clock, publicUrl: () => string) {
  const kept = createExpiringCache<Fields>({ clock, keepMs, room: 50 });
  const askedAgain = createExpiringCache<true>({ clock, keepMs, room: 50 });

  async function fetchProfile(url: string): Promise<Fields> {
    refuseStranger(url, publicUrl());
    const known = kept.get(url);
    if (known !== undefined) return known;
    const profile = await readJson(url);
    kept.set(url, profile);
    return profile;
  }

  /** The profile for a version: at the given URL, or where that profile points. Only one step is followed. */
  async function read(url: string, version: UcpVersion): Promise<AgentProfile> {
    let profile = await fetchProfile(url);
    const told = fieldsOf(profile['ucp']);
    if (told['version'] !== version) {
      const leaf = fieldsOf(told['supported_versions'])[version];
      if (typeof leaf !== 'string')
        throw protocolError('version_unsupported', `The profile does not offer ${version}.`);
      profile = await fetchProfile(leaf);
    }
    const ucp = fieldsOf(profile['ucp']);
    if (ucp['version'] !== version) throw protocolError('profile_malformed', 'The profile is of another version.');
    const keys = [profile['keys'], profile['signing_keys']].flatMap((list) => (Array.isArray(list) ? list : []));
    return { capabilities: fieldsOf(ucp['capabilities']), keys };
  }

  return {
    read,
    /** Fetches it again, but at most once per cache period. */
    readAgain(url: string, version: UcpVersion): Promise<AgentProfile> {
      if (askedAgain.get(url) === undefined) {
        askedAgain.set(url, true);
        const leaf = fieldsOf(fieldsOf(kept.get(url)?.['ucp'])['supported_versions'])[version];
        for (const one of [url, leaf]) if (typeof one === 'string') kept.forget(one);
      }
      return read(url, version);
    },
  };
}

function refuseStranger(url: string, publicUrl: string): void {
  if (parseUrl(url) === undefined || !/^https?:\/\//i.test(url)) {
    throw protocolError('invalid_profile_url', 'The profile is not at an address of the web.');
  }
  const { origin, hostname } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  const loopback = host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
  if (!loopback && origin !== parseUrl(publicUrl)?.origin) {
    throw protocolError('profile_not_trusted', 'This shop knows the agents of its own sandbox only.');
  }
}

async function readJson(url: string): Promise<Fields> {
  let text: string;
  try {
    const reply = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(patienceMs) });
    if (reply.status !== 200) throw new Error(`it answered ${reply.status}`);
    text = await reply.text();
  } catch {
    throw protocolError('profile_unreachable', 'The profile could not be read.');
  }
  try {
    if (text.length > mostBytes) throw new Error('it is too long');
    const profile = JSON.parse(text) as unknown;
    if (typeof fieldsOf(fieldsOf(profile)['ucp'])['version'] !== 'string') throw new Error('it has no version');
    return fieldsOf(profile);
  } catch {
    throw protocolError('profile_malformed', 'The profile is not one of UCP.');
  }
}
