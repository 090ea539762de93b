import type { MerchantPlatform } from './merchant-platform.ts';
import type { MerchantSite } from './merchant-site.ts';
import { MerchantTrouble } from './merchant-trouble.ts';
import type { Candidate, Product } from './product.ts';
import { matchProduct, rankProducts } from './rank.ts';

export interface SiteSearch {
  readonly site: MerchantSite;
  readonly query: string;
  /** Most trusted first. */
  readonly platforms: readonly MerchantPlatform[];
  /** Returns undefined for products that cannot be shown. */
  readonly clean: (candidate: Candidate) => Product | undefined;
  /** How long to wait for more trusted platforms once one has found a product. */
  readonly graceMs?: number;
  /** Called as soon as the platform is chosen, because the reader may stop before the end. */
  readonly onBest?: (platform: MerchantPlatform) => void;
  readonly signal: AbortSignal;
}

export interface SiteOutcome {
  /** The platform whose products were used; undefined if every platform failed. */
  readonly platform: MerchantPlatform | undefined;
  readonly troubles: readonly MerchantTrouble[];
}

/** More than are shown, because ranking comes afterwards. */
const mostProducts = 12;

interface Attempt {
  readonly platform: MerchantPlatform;
  readonly products: Product[];
  open: boolean;
  trouble?: MerchantTrouble;
  /** An error of ours, not of the merchant. */
  fault?: unknown;
}

/**
 * Searches a site on every platform at once and yields the products of the best one as they arrive. The best is the most trusted
 * platform whose products match every word, or else the most trusted one with any product. Slower platforms get only a short
 * grace period.
 */
export async function* searchSite(search: SiteSearch): AsyncGenerator<Product, SiteOutcome> {
  const { site, query, platforms, clean, graceMs = 400, onBest, signal } = search;
  const attempts = platforms.map((platform): Attempt => ({ platform, products: [], open: true }));
  const events = createSignals();
  let graceOver = false;
  let grace: NodeJS.Timeout | undefined;
  const beginGrace = () => {
    grace ??= setTimeout(() => {
      graceOver = true;
      events.happen();
    }, graceMs);
  };

  async function run(attempt: Attempt): Promise<void> {
    try {
      for await (const candidate of attempt.platform.search(site, query)) {
        if (signal.aborted || attempt.products.length >= mostProducts) return;
        const product = clean(candidate);
        if (product === undefined || attempt.products.some((other) => isSame(other, product))) continue;
        attempt.products.push(product);
        beginGrace();
        events.happen();
      }
    } catch (error) {
      if (error instanceof MerchantTrouble) attempt.trouble = error;
      else attempt.fault = error;
    } finally {
      attempt.open = false;
      events.happen();
    }
  }

  for (const attempt of attempts) void run(attempt);
  signal.addEventListener('abort', events.happen);
  try {
    let best: Attempt | undefined;
    for (let given = 0; ; ) {
      const happened = events.happened();
      if (best === undefined) {
        best = chooseBest(attempts, { query, waiting: !graceOver && !signal.aborted });
        if (best !== undefined) onBest?.(best.platform);
      }
      const fresh = best?.products.slice(given) ?? [];
      given += fresh.length;
      yield* rankProducts(query, fresh);
      const settled = best === undefined ? attempts.every(({ open }) => !open) : !best.open;
      if (signal.aborted || (settled && given === (best?.products.length ?? 0))) break;
      await events.after(happened);
    }
    for (const { fault } of attempts) if (fault !== undefined) throw fault;
    // "Nothing found" is certain only after every platform has finished.
    const empty = attempts.some(({ open }) => open) ? undefined : attempts.find(({ trouble }) => trouble === undefined);
    return {
      platform: (best ?? empty)?.platform,
      troubles: attempts.flatMap(({ trouble }) => trouble ?? []),
    };
  } finally {
    clearTimeout(grace);
    signal.removeEventListener('abort', events.happen);
  }
}

function createSignals() {
  let count = 0;
  let wake = () => {};
  return {
    happen: () => {
      count++;
      wake();
    },
    happened: () => count,
    /**
     * Resolves after an event later than `seen`, and lets simultaneous events arrive so that their products are ranked together.
     */
    async after(seen: number): Promise<void> {
      if (count === seen) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

/** Products without a URL of their own all carry the shop's front page. */
function isSame(one: Product, other: Product): boolean {
  return one.url === other.url && (one.title === other.title || new URL(one.url).pathname !== '/');
}

/** Undefined while a more trusted platform may still answer. */
function chooseBest(
  attempts: readonly Attempt[],
  { query, waiting }: { readonly query: string; readonly waiting: boolean },
): Attempt | undefined {
  const isWhole = ({ products }: Attempt) => products.some((product) => matchProduct(query, product).whole);
  for (const attempt of attempts) {
    if (isWhole(attempt)) return attempt;
    if (waiting && attempt.open) return undefined;
  }
  return attempts.find(({ products }) => products.length > 0);
}
