import type { Checkout, CheckoutPlace, ShopAnswer, ShopCheckouts } from '../../../orders/checkout.ts';
import { createExpiringCache } from '../../../search/expiring-cache.ts';
import { type MerchantSite, openSite } from '../../../search/merchant-site.ts';
import { MerchantTrouble } from '../../../search/merchant-trouble.ts';
import { credentialType, handlerName, instrumentType } from '../../../search/payment-handler.ts';
import type { Website } from '../../../search/website.ts';
import { type Fields, fieldsOf, listOf, textOf } from '../../fields.ts';
import { isCapable, readProfile, type ShopProfile, servicesOf, supportedProfiles } from '../profile.ts';
import { beginCheckout } from './begin-checkout.ts';
import { type CheckoutParts, callShop, type ShopCall } from './call-shop.ts';
import { type Asked, readAnswer } from './read-session.ts';

const checkoutName = 'dev.ucp.shopping.checkout';
const fulfillmentName = 'dev.ucp.shopping.fulfillment';
/** UCP requires caching a profile for at least a minute. */
const keepProfileMs = 60_000;
const findWithinMs = 6_000;

/** Shops with a UCP checkout over REST. */
export function createUcpCheckouts(parts: CheckoutParts): ShopCheckouts {
  const places = createExpiringCache<{ readonly place: CheckoutPlace | undefined }>({
    clock: parts.clock,
    keepMs: keepProfileMs,
    room: 10_000,
  });

  // A stranger chooses the site, and the site chooses the size of its keys, so the cache is limited by size.
  const keys = createExpiringCache<readonly unknown[]>({
    clock: parts.clock,
    keepMs: keepProfileMs,
    room: 8_000_000,
    weigh: (found) => 1_000 + JSON.stringify(found).length,
  });
  const freshened = createExpiringCache<true>({ clock: parts.clock, keepMs: keepProfileMs, room: 10_000 });

  function open(website: Website, holder?: string): Promise<MerchantSite> {
    return openSite({ ...parts, holder }, website, AbortSignal.timeout(findWithinMs));
  }

  async function findNow(website: Website): Promise<CheckoutPlace | undefined> {
    const site = await open(website);
    for await (const profile of supportedProfiles(site)) {
      const place = placeIn(profile, { handler: handlerName(parts.publicUrl()), domain: website.name });
      if (place !== undefined) return place;
    }
    return undefined;
  }

  return {
    async find(website) {
      const known = places.get(website.origin);
      if (known !== undefined) return known.place;
      const place = await findNow(website).catch((error: unknown) => {
        // A site without a profile, or whose robots.txt denies it, takes no orders.
        if (error instanceof MerchantTrouble && (error.kind === 'not_offered' || error.kind === 'forbidden'))
          return undefined;
        throw error;
      });
      // Only positive results are cached, so that a shop that starts taking orders is found at once.
      if (place !== undefined) places.set(website.origin, { place });
      return place;
    },

    async keysOf(website, freshness) {
      const { origin } = website;
      const known = keys.get(origin);
      if (freshness === 'only remembered') return known ?? [];
      // An unknown key may be new, but a site is asked for it at most once per cache period.
      if (known !== undefined && (freshness === 'may be remembered' || freshened.get(origin) !== undefined))
        return known;
      if (known !== undefined) freshened.set(origin, true);
      // Strangers can name any site, so all these reads share one scheduling slot and do not delay paid work.
      const site = await open(website, 'keys of sites');
      const profile = await readProfile(site, `${site.origin}/.well-known/ucp`);
      const found = [...listOf(profile['keys']), ...listOf(profile['signing_keys'])];
      keys.set(origin, found);
      return found;
    },

    begin: (place, request) => beginCheckout(parts, place, request),

    complete: (checkout, { orderId, token, expiresAt, key }) =>
      ask(parts, checkout, {
        key,
        asked: 'complete',
        body: {
          payment: {
            instruments: [
              {
                id: orderId,
                handler_id: checkout.handlerId,
                type: instrumentType,
                selected: true,
                credential: { type: credentialType, token, expires_at: expiresAt.toISOString() },
              },
            ],
          },
        },
      }),

    look: (checkout) => ask(parts, checkout, { asked: 'look' }),

    cancel: (checkout, key) => ask(parts, checkout, { key, asked: 'cancel', body: {} }),
  };
}

async function ask(
  parts: CheckoutParts,
  { endpoint, id }: Checkout,
  { asked, ...sent }: Pick<ShopCall, 'key' | 'body'> & { readonly asked: Asked },
): Promise<ShopAnswer> {
  const session = `${endpoint}/checkout-sessions/${encodeURIComponent(id)}`;
  try {
    const answer = await callShop(parts, {
      method: asked === 'look' ? 'GET' : 'POST',
      url: asked === 'look' ? session : `${session}/${asked}`,
      timeoutMs: asked === 'complete' ? 12_000 : 8_000,
      ...sent,
    });
    return readAnswer(answer, { asked, checkoutId: id });
  } catch (error) {
    // The shop may or may not have received the request.
    if (error instanceof MerchantTrouble) return { state: 'unknown', why: error.message };
    throw error;
  }
}

/** Requires a checkout and our payment handler in the profile's version. */
function placeIn(
  profile: ShopProfile,
  { handler, domain }: { readonly handler: string; readonly domain: string },
): CheckoutPlace | undefined {
  if (!isCapable(profile, checkoutName)) return undefined;
  const service = servicesOf(profile).find(({ transport }) => transport === 'rest');
  const entry = listOf(fieldsOf(profile.ucp['payment_handlers'])[handler])
    .map(fieldsOf)
    .find((one) => isFor(domain, one));
  const handlerId = textOf(entry?.['id']);
  if (service === undefined || handlerId === undefined) return undefined;
  return {
    version: profile.version,
    endpoint: service.endpoint,
    handlerId,
    ships: isCapable(profile, fulfillmentName),
  };
}

/** An entry that names another business was copied from elsewhere. */
function isFor(domain: string, entry: Fields): boolean {
  const id = textOf(entry['id']);
  if (id === undefined || id.length > 500) return false;
  const business = textOf(fieldsOf(entry['config'])['business']);
  return business === undefined || business.toLowerCase().replace(/^www\./, '') === domain;
}
