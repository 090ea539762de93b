import { z } from 'zod';
import { visibleText } from '../../accounts/fields.ts';
import { refuseBeyondCap } from '../../kernel/daily-caps/count-today.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Caller } from '../../kernel/http/define-route.ts';
import { httpErrors } from '../../kernel/http/errors.ts';
import type { RequestHolder } from '../../kernel/http/holder.ts';
import { untrusted } from '../../kernel/http/untrusted.ts';
import type { Outgoing } from '../../kernel/outgoing/outgoing.ts';
import { createPreview } from './preview.ts';
import { describeProduct, type Product } from './product.ts';
import { rankProducts } from './rank.ts';
import type { LimitedSearch } from './search-merchant.ts';
import { readWebsite, type Website } from './website.ts';

export const website = z.string().max(300, 'must be at most 300 characters').meta({
  description: 'The domain of a shop, in any common form: `shop.example`, `https://www.shop.example/mugs`.',
});

export function websiteOrRefuse(text: string, outgoing: Pick<Outgoing, 'explainRefusal'>): Website {
  const read = readWebsite(text, outgoing);
  if (read.refusal === undefined) return read;
  throw httpErrors.invalid_request(`website ${read.refusal}.`, {
    errors: [{ path: 'website', message: read.refusal }],
  });
}

export interface SearchParts {
  readonly db: Database;
  readonly outgoing: Pick<Outgoing, 'explainRefusal'>;
  readonly merchants: LimitedSearch;
  /** A function, because the port is known only once the service listens. */
  readonly publicUrl: () => string;
}

/** More are read, so that ranking has a choice. */
export const mostShown = 4;

export const searchWords = visibleText(200).meta({ description: 'The search terms.' });
export const previewUrl = z
  .string()
  .meta({ description: 'A page with photos of the products, available for 24 hours.' });
const shownVariant = z.object({
  id: untrusted,
  title: untrusted,
  options: z.array(z.object({ name: untrusted, value: untrusted })),
  price: untrusted,
  priceNum: z.number(),
  available: z.boolean().nullable().meta({ description: 'Null if the shop does not say.' }),
});
export const shownProduct = z.object({
  title: untrusted,
  brand: untrusted.meta({ description: 'The name of the shop if the product has no brand.' }),
  price: untrusted.meta({ description: 'The price with its currency, as the shop shows it.' }),
  priceNum: z.number(),
  url: untrusted,
  variants: z.array(shownVariant).optional().meta({
    description: 'Up to 20 variants, if the buyer has to choose one: send it as `productVariant`.',
  }),
  moreVariants: z.boolean().optional().meta({ description: 'Whether there are more variants than listed.' }),
});
export const foundProducts = z.object({ products: z.array(shownProduct), previewUrl });

export interface Wanted {
  readonly website: string;
  readonly query: string;
  readonly holder: RequestHolder;
  /** The account whose daily cap counts this search; undefined for a paid search. */
  readonly searcher: Caller | undefined;
}

/** Searches a shop, ranks the products and stores a preview page. */
export async function searchShop(
  { db, outgoing, merchants, publicUrl }: SearchParts,
  { website, query, holder, searcher }: Wanted,
): Promise<z.input<typeof foundProducts>> {
  const site = websiteOrRefuse(website, outgoing);
  if (searcher !== undefined) await refuseBeyondCap(db, searcher, 'searches');
  const found: Product[] = [];
  for await (const one of merchants.of(holder).search(site, query, new AbortController().signal)) found.push(one);
  const products = rankProducts(query, found).slice(0, mostShown);
  const token = await createPreview(db, { website: site.name, query, products, searcher });
  return { products: products.map(describeProduct), previewUrl: previewAddress(publicUrl(), token) };
}

export function previewAddress(publicUrl: string, token: string): string {
  return `${publicUrl}/shopping/preview/${token}`;
}
