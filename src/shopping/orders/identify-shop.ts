import type { Clock } from '../../kernel/clock.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import type { Caller, ReceivedRequest, RequestCount } from '../../kernel/http/define-route.ts';
import type { Outgoing } from '../../kernel/outgoing/outgoing.ts';
import { type Verified, verifyRequest } from '../../kernel/signing/verify-request.ts';
import { parseUrl } from '../../kernel/text/parse-url.ts';
import { merchantsOf } from '../merchants/find-merchant.ts';
import { MerchantTrouble } from '../search/merchant-trouble.ts';
import { readWebsite, type Website } from '../search/website.ts';
import type { ShopCheckouts } from './checkout.ts';
import { credentialErrors } from './errors.ts';

export interface IdentifyParts {
  readonly db: Queryable;
  readonly clock: Clock;
  readonly checkouts: Pick<ShopCheckouts, 'keysOf'>;
  readonly outgoing: Pick<Outgoing, 'explainRefusal'>;
  readonly publicUrl: () => string;
  /** How many signed requests a minute one shop may send. */
  readonly shopPerMinute: number;
}

/** Whom a request speaks for. */
export interface Identified {
  readonly domains: readonly string[];
  /** Once the request has turned out to be good: that its shop had to be asked for its keys does not count for its address. */
  forgiveAddress(): Promise<void>;
}

/** Longer than any honest clock is off; a request that is sent again is known by its key anyway. */
const maxAgeMs = 5 * 60_000;

/**
 * Which domains whoever asks may speak for: those that its account has proved, or the one whose own profile lists the key that this
 * very request is signed with. A signed request counts for its shop, and one that is not verified for its address. As long as the
 * shop's keys are not known it counts for its address as well, because whoever sends it makes us ask a site.
 */
export async function domainsOf(
  parts: IdentifyParts,
  caller: Caller | undefined,
  received: ReceivedRequest,
  count: RequestCount,
): Promise<Identified> {
  let forgiveAddress = async () => {};
  if (caller !== undefined) return { domains: await merchantsOf(parts.db, caller.accountId), forgiveAddress };
  const forgive = await count.trial();
  const website = websiteOf(parts, received);
  const judge = (keys: readonly unknown[]) =>
    verifyRequest(received, {
      keys,
      authorities: [new URL(parts.publicUrl()).host],
      now: parts.clock.now(),
      maxAgeMs,
      requires: ['ucp-agent', ...(received.headers['idempotency-key'] === undefined ? [] : ['idempotency-key'])],
    });
  let verdict = await judge(await keysOf(parts, website, 'only remembered'));
  if (!verdict.ok && verdict.code === 'key_not_found') {
    forgiveAddress = await count.address();
    verdict = await judge(await keysOf(parts, website, 'may be remembered'));
  }
  if (!verdict.ok && verdict.code === 'key_not_found') {
    verdict = await judge(await keysOf(parts, website, 'looked up again'));
  }
  if (!verdict.ok) throw refused(verdict);
  await forgive();
  await count.shop(website.name, parts.shopPerMinute);
  return { domains: [website.name], forgiveAddress };
}

function refused({ code, detail }: Extract<Verified, { ok: false }>) {
  const sentence = detail.charAt(0).toUpperCase() + detail.slice(1);
  return credentialErrors.signature_invalid(`${sentence}. ${credentialErrors.signature_invalid.detail}`, {
    members: { reason: code },
    headers: { 'WWW-Authenticate': 'Bearer' },
  });
}

/** The site whose profile the request says it comes with. */
function websiteOf({ outgoing }: IdentifyParts, { headers }: ReceivedRequest): Website {
  const agent = headers['ucp-agent'];
  const profile = typeof agent === 'string' ? /(?:^|[,;\s])profile="([^"\\]{1,1000})"/.exec(agent)?.[1] : undefined;
  const url = profile === undefined ? undefined : parseUrl(profile);
  if (url === undefined) {
    throw credentialErrors.signature_invalid(undefined, { headers: { 'WWW-Authenticate': 'Bearer' } });
  }
  const website = readWebsite(url.origin, outgoing);
  if (website.refusal !== undefined) {
    throw credentialErrors.signature_invalid(`The site in UCP-Agent cannot be read: it ${website.refusal}.`);
  }
  return website;
}

async function keysOf(
  { checkouts }: IdentifyParts,
  website: Website,
  freshness: Parameters<ShopCheckouts['keysOf']>[1],
): Promise<readonly unknown[]> {
  try {
    return await checkouts.keysOf(website, freshness);
  } catch (error) {
    if (!(error instanceof MerchantTrouble)) throw error;
    throw credentialErrors.signature_invalid(`The profile in UCP-Agent could not be read: ${error.message}`);
  }
}
