import type { Clock } from '../../kernel/clock.ts';
import type { Caller, ReceivedRequest, RequestCount } from '../../kernel/http/define-route.ts';
import { type Verified, verifyRequest } from '../../kernel/signing/verify-request.ts';
import { parseUrl } from '../../kernel/text/parse-url.ts';
import { merchantsOf } from '../merchants/find-merchant.ts';
import { MerchantTrouble } from '../search/merchant-trouble.ts';
import { readWebsite, type Website } from '../search/website.ts';
import type { BuyParts } from './buy.ts';
import type { ShopCheckouts } from './checkout.ts';
import { credentialErrors } from './errors.ts';

export interface IdentifyParts extends Pick<BuyParts, 'db' | 'checkouts' | 'outgoing' | 'publicUrl'> {
  readonly clock: Clock;
  /** Limit on signed requests per shop and minute. */
  readonly shopPerMinute: number;
}

/** The domains that a request may act for. */
export interface Identified {
  readonly domains: readonly string[];
  /** Call after a successful redemption: it refunds the address's rate limit for fetching the shop's keys. */
  forgiveAddress(): Promise<void>;
}

/** More than normal clock skew. The idempotency key catches replays within it. */
const maxAgeMs = 5 * 60_000;

/**
 * A caller with an API key acts for the domains of its account; a signed request acts for the domain whose profile lists the key.
 * A verified request counts against the shop's rate limit, any other against the address's. While the shop's keys are not cached,
 * the request also counts against the address, because it makes us send a request to a site.
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

/** The site whose profile the UCP-Agent header names. */
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
