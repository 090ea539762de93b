import type { MerchantPlatform } from './merchant-platform.ts';
import type { MerchantSite } from './merchant-site.ts';
import { MerchantTrouble } from './merchant-trouble.ts';
import type { Candidate, Product } from './product.ts';
import { matchProduct, rankProducts } from './rank.ts';

export interface SiteSearch {
  readonly site: MerchantSite;
  readonly query: string;
  /** In the order in which they are believed. */
  readonly platforms: readonly MerchantPlatform[];
  /** Undefined for what cannot be shown. */
  readonly clean: (candidate: Candidate) => Product | undefined;
  /** How long better ones are waited for once one has found something. */
  readonly graceMs?: number;
  /** Told as soon as it is clear who is the best, because whoever reads the products may not read to the end. */
  readonly onBest?: (platform: MerchantPlatform) => void;
  readonly signal: AbortSignal;
}

/** How a search of one site went. */
export interface SiteOutcome {
  /** Who has answered; undefined when nobody could. */
  readonly platform: MerchantPlatform | undefined;
  readonly troubles: readonly MerchantTrouble[];
}

/** More than are shown, because they are ranked first. */
const mostProducts = 12;

interface Attempt {
  readonly platform: MerchantPlatform;
  readonly products: Product[];
  open: boolean;
  trouble?: MerchantTrouble;
  /** What is our fault and not the merchant's. */
  fault?: unknown;
}

/**
 * Asks a site in every way at once, and gives what the best of them finds, as it is found. The best is the most trusted of
 * those who have found everything that was asked for, or else of those who have found anything. Whoever is slower than the
 * others is waited for only briefly. Ends when the signal comes.
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
    // That there is nothing is certain only when nobody is looking any more.
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

/** Counts what happens, and lets one reader wait for more. */
function createSignals() {
  let count = 0;
  let wake = () => {};
  return {
    happen: () => {
      count++;
      wake();
    },
    happened: () => count,
    /** Waits for more than so many, and then for what comes along with it: together they can be ranked. */
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

/** Products without an address of their own all have that of the shop. */
function isSame(one: Product, other: Product): boolean {
  return one.url === other.url && (one.title === other.title || new URL(one.url).pathname !== '/');
}

/** Undefined as long as a better one may still come. */
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
