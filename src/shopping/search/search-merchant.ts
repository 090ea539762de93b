import type { Clock } from '../../kernel/clock.ts';
import type { RequestHolder } from '../../kernel/http/holder.ts';
import { createPlaces } from '../../kernel/places/places.ts';
import { shoppingErrors } from './errors.ts';
import { createExpiringCache } from './expiring-cache.ts';
import type { MerchantPlatform } from './merchant-platform.ts';
import { openSite, type SiteParts } from './merchant-site.ts';
import { MerchantTrouble, searchErrorFor } from './merchant-trouble.ts';
import { type Product, toProduct } from './product.ts';
import { type SiteOutcome, searchSite } from './search-site.ts';
import type { Website } from './website.ts';

export type LimitedSearch = ReturnType<typeof limitSearch>;

/** `inAll` bounds the memory that responses from shops can take in one process. */
const limits = { what: 'searches', inAll: 256, shares: { caller: 16, address: 64, network: 128 } };

/** Shop search with a concurrency limit per caller. */
export function limitSearch(merchants: MerchantSearch) {
  const places = createPlaces(limits);
  return {
    of: (holder: RequestHolder): MerchantSearch => ({
      async *search(website, query, signal, how = {}) {
        const place = places.enter(holder);
        try {
          yield* merchants.search(website, query, signal, { ...how, holder: holder.caller });
        } finally {
          place.leave();
        }
      },
    }),
    /** Throws if a search that starts now would exceed a concurrency limit. */
    refuseWithoutRoom(holder: RequestHolder): void {
      places.enter(holder).leave();
    },
  };
}

export interface MerchantSearch {
  /**
   * Yields products as they are found. Throws a problem if the site could not be searched. The search stops when the reader stops
   * or the signal aborts. A purchase sets `onlyBy`, because the checkout knows only that platform's product ids.
   */
  search(website: Website, query: string, signal: AbortSignal, how?: HowToSearch): AsyncGenerator<Product>;
}

interface HowToSearch {
  readonly onlyBy?: string | undefined;
  /** For the parser's fair scheduling. */
  readonly holder?: string | undefined;
}

export interface MerchantSearchParts extends SiteParts {
  readonly clock: Clock;
  readonly platforms: readonly MerchantPlatform[];
  /** The API answers within 8 seconds; the default leaves time for ranking and the preview. */
  readonly withinMs?: number;
}

const keepAnswersMs = 60_000;
const keepPlatformMs = 60 * 60_000;

export function createMerchantSearch(parts: MerchantSearchParts): MerchantSearch {
  const { outgoing, clock, platforms, withinMs = 6_500 } = parts;
  const answers = createExpiringCache<readonly Product[]>({
    clock,
    keepMs: keepAnswersMs,
    room: 16_000_000,
    weigh: (products) =>
      products.reduce(
        (sum, { url, picture, variants }) =>
          sum + url.length + (picture?.url.length ?? 0) + variants.length * 1_000 + 1_000,
        500,
      ),
  });
  const kinds = createExpiringCache<MerchantPlatform>({ clock, keepMs: keepPlatformMs, room: 10_000 });

  async function* searchNow(
    website: Website,
    query: string,
    signal: AbortSignal,
    { onlyBy, holder }: HowToSearch,
  ): AsyncGenerator<Product> {
    const site = await openSite({ ...parts, holder }, website, signal);
    const { origin, name: siteName } = site;
    const known = onlyBy === undefined ? kinds.get(website.name) : platforms.find(({ name }) => name === onlyBy);
    // A shop rarely changes its platform. If the known one fails, all the others are tried.
    const others = onlyBy === undefined ? platforms.filter((one) => one !== known) : [];
    const rounds = known === undefined ? [others] : [[known], ...(others.length > 0 ? [others] : [])];
    const troubles: MerchantTrouble[] = [];
    for (const asked of rounds) {
      const found: Product[] = [];
      const clean = (candidate: Parameters<typeof toProduct>[0]) =>
        toProduct(candidate, { outgoing, origin, siteName });
      const onBest = (platform: MerchantPlatform) => kinds.set(website.name, platform);
      const { platform, troubles: met } = yield* gathering(
        searchSite({ site, query, platforms: asked, clean, onBest, signal }),
        found,
      );
      if (platform !== undefined) {
        onBest(platform);
        if (!signal.aborted && platform.keepsNothing !== true && onlyBy === undefined) {
          answers.set(answerKey(website, query), found);
        }
        return;
      }
      kinds.forget(website.name);
      troubles.push(...met);
    }
    throw searchErrorFor(troubles);
  }

  return {
    async *search(website, query, signal, how = {}) {
      const { onlyBy } = how;
      const kept = onlyBy === undefined ? answers.get(answerKey(website, query)) : undefined;
      if (kept !== undefined) {
        yield* kept;
        return;
      }
      const over = new AbortController();
      let slow = false;
      const giveUp = () => over.abort();
      const timer = setTimeout(() => {
        slow = true;
        giveUp();
      }, withinMs);
      signal.addEventListener('abort', giveUp);
      let given = 0;
      try {
        signal.throwIfAborted();
        for await (const product of searchNow(website, query, over.signal, how)) {
          given++;
          yield product;
        }
      } catch (error) {
        if (slow && given > 0) return;
        if (slow)
          throw shoppingErrors.merchant_too_slow(
            `The site did not respond within ${withinMs / 1_000} seconds. Try again later.`,
          );
        throw error instanceof MerchantTrouble ? searchErrorFor([error]) : error;
      } finally {
        clearTimeout(timer);
        signal.removeEventListener('abort', giveUp);
        // Stops the platforms that were not chosen or are not read any more.
        giveUp();
      }
    },
  };
}

/** Passes every product on and also collects it. */
async function* gathering(
  searching: AsyncGenerator<Product, SiteOutcome>,
  found: Product[],
): AsyncGenerator<Product, SiteOutcome> {
  try {
    for (;;) {
      const step = await searching.next();
      if (step.done === true) return step.value;
      found.push(step.value);
      yield step.value;
    }
  } finally {
    // Also stops the search if the reader stops early.
    await searching.return({ platform: undefined, troubles: [] });
  }
}

/** The site does not see who asks, so all callers share one cached result. */
function answerKey({ origin }: Website, query: string): string {
  return `${origin} ${query.normalize('NFC').toLowerCase().replace(/\s+/g, ' ').trim()}`;
}
