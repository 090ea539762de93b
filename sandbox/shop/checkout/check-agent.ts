import type { Clock } from '../../../src/kernel/clock.ts';
import { readDictionary } from '../../../src/kernel/signing/structured-fields.ts';
import { verifyRequest } from '../../../src/kernel/signing/verify-request.ts';
import type { ShopMessage } from '../message.ts';
import { checkoutCapability, fieldsOf, fulfillmentCapability, type UcpVersion } from '../ucp-versions.ts';
import type { AgentProfile, AgentProfiles } from './agent-profiles.ts';
import { noSession, protocolError } from './refusal-reply.ts';

export interface CheckAgentOptions {
  readonly clock: Clock;
  readonly profiles: AgentProfiles;
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
