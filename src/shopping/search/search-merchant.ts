import type { Clock } from '../../kernel/clock.ts';
import type { Outgoing } from '../../kernel/outgoing/outgoing.ts';
import type { Parser } from '../../kernel/parser/parser.ts';
import type { ShoppingAgent } from './agent.ts';
import { createBriefMemory } from './brief-memory.ts';
import { shoppingErrors } from './errors.ts';
import type { MerchantPlatform } from './merchant-platform.ts';
import { openSite } from './merchant-site.ts';
import { MerchantTrouble } from './merchant-trouble.ts';
import type { Product } from './product.ts';
import { refuseByTroubles } from './refuse-by-troubles.ts';
import type { RobotsBook } from './robots-book.ts';
import { type SiteOutcome, searchSite } from './search-site.ts';
import { toProduct } from './to-product.ts';
import type { Website } from './website.ts';

export interface MerchantSearch {
  /**
   * Gives products as they are found. Throws a problem when the site could not be searched. Whoever stops reading, or gives
   * the signal, ends all work for it. Whoever is going to order asks in one way only, the one whose names the shop knows.
   */
  search(website: Website, query: string, signal: AbortSignal, how?: HowToSearch): AsyncGenerator<Product>;
}

interface HowToSearch {
  readonly onlyBy?: string | undefined;
  /** Whom it is for. */
  readonly holder?: string | undefined;
}

export interface MerchantSearchParts {
  readonly outgoing: Outgoing;
  readonly parser: Parser;
  readonly clock: Clock;
  readonly platforms: readonly MerchantPlatform[];
  readonly agent: () => ShoppingAgent;
  readonly robots: RobotsBook;
  /** The answer comes within 8 seconds; this leaves room for what is done with it. */
  readonly withinMs?: number;
}

const keepAnswersMs = 60_000;
const keepPlatformMs = 60 * 60_000;

export function createMerchantSearch({
  outgoing,
  parser,
  clock,
  platforms,
  agent,
  robots,
  withinMs = 6_500,
}: MerchantSearchParts): MerchantSearch {
  const answers = createBriefMemory<readonly Product[]>({
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
  const kinds = createBriefMemory<MerchantPlatform>({ clock, keepMs: keepPlatformMs, room: 10_000 });

  async function* searchNow(
    website: Website,
    query: string,
    signal: AbortSignal,
    { onlyBy, holder }: HowToSearch,
  ): AsyncGenerator<Product> {
    const site = await openSite({ outgoing, parser, holder, robots, agent: agent() }, website, signal);
    const { origin, name: siteName } = site;
    const known = onlyBy === undefined ? kinds.get(website.name) : platforms.find(({ name }) => name === onlyBy);
    // What the site was an hour ago it mostly still is. If not, it is asked in every other way.
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
    throw refuseByTroubles(troubles);
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
        throw error instanceof MerchantTrouble ? refuseByTroubles([error]) : error;
      } finally {
        clearTimeout(timer);
        signal.removeEventListener('abort', giveUp);
        // Whoever was not the best, or is not read any more, has nothing left to do.
        giveUp();
      }
    },
  };
}

/** Passes everything on, and keeps it too. */
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
    // Also when nobody reads on, so that nothing is left waiting.
    await searching.return({ platform: undefined, troubles: [] });
  }
}

/** The same words at the same site are the same question; who asks does not matter, because the site is not told. */
function answerKey({ origin }: Website, query: string): string {
  return `${origin} ${query.normalize('NFC').toLowerCase().replace(/\s+/g, ' ').trim()}`;
}
