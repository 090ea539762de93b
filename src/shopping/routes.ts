import { z } from 'zod';
import { visibleText } from '../accounts/fields.ts';
import type { Database } from '../db/database.ts';
import { defineRoute, ok, type Route } from '../http/define-route.ts';
import { defineStream } from '../http/define-stream.ts';
import type { Outgoing } from '../outgoing/outgoing.ts';
import { shoppingErrors } from './errors.ts';
import { createPreview } from './preview.ts';
import { describeProduct, type Product } from './product.ts';
import { rankProducts } from './rank.ts';
import type { MerchantSearch } from './search-merchant.ts';
import { website, websiteOrRefuse } from './website-field.ts';

export interface ShoppingParts {
  readonly db: Database;
  readonly outgoing: Pick<Outgoing, 'explainRefusal'>;
  readonly merchants: MerchantSearch;
  /** Where the service is reached; known for certain only once it listens. */
  readonly publicUrl: () => string;
}

export function shoppingRoutes(parts: ShoppingParts): Route[] {
  return [searchRoute(parts), streamRoute(parts)];
}

/** How many are shown; more are read, so that the best can be chosen. */
const mostShown = 4;

const query = visibleText(200).meta({ description: 'What to look for, in a few words.' });
const previewUrl = z.string().meta({ description: 'A page with photos of the products, for 24 hours.' });
const product = z.object({
  title: z.string(),
  brand: z.string().meta({ description: 'The name of the shop where the product has none.' }),
  price: z.string().meta({ description: 'With its currency, as the shop writes it.' }),
  priceNum: z.number(),
  url: z.string(),
});

const example = {
  website: 'demo-shop.example',
  query: 'mug',
  product: {
    title: 'Stoneware Mug, Sea',
    brand: 'Alder Pottery',
    price: '$24.00',
    priceNum: 24,
    url: 'http://demo-shop.example/products/stoneware-mug-sea',
  },
  previewUrl: 'https://pay.example.com/shopping/preview/8fKq0ZtR7nXv2bLmW9cYsD1e',
};

const facts = { tag: 'Shopping', auth: 'key', scope: 'read' } as const;
const errors = [
  shoppingErrors.merchant_unreachable,
  shoppingErrors.merchant_too_slow,
  shoppingErrors.merchant_unsupported,
];

function searchRoute({ db, outgoing, merchants, publicUrl }: ShoppingParts): Route {
  return defineRoute(
    {
      ...facts,
      id: 'searchProducts',
      method: 'POST',
      path: '/shopping/search',
      summary: 'Search a shop',
      description:
        'Any shop on the web: the site is asked in the ways that its platform offers, and the best answer wins. It comes within 8 seconds. What the shop says is cleaned of markup and hidden characters, but it is a stranger’s text.',
      body: z.strictObject({ website, query }),
      examples: { body: { website: example.website, query: example.query } },
      returns: {
        200: {
          description: 'Up to 4 products, the best first',
          schema: z.object({ products: z.array(product), previewUrl }),
          example: { products: [example.product], previewUrl: example.previewUrl },
        },
      },
      errors,
    },
    async ({ body }) => {
      const site = websiteOrRefuse(body.website, outgoing);
      const found: Product[] = [];
      for await (const one of merchants.search(site, body.query, new AbortController().signal)) found.push(one);
      const products = rankProducts(body.query, found).slice(0, mostShown);
      const token = await createPreview(db, { website: site.name, query: body.query, products });
      return ok({ products: products.map(describeProduct), previewUrl: previewAddress(publicUrl(), token) });
    },
  );
}

function streamRoute({ db, outgoing, merchants, publicUrl }: ShoppingParts): Route {
  return defineStream(
    {
      ...facts,
      id: 'streamProducts',
      path: '/shopping/search/stream',
      summary: 'Search a shop, and see each product as it is found',
      description:
        'Like the search above, as Server-Sent Events. Send `Accept: text/event-stream`. Closing the connection ends the search.',
      query: z.strictObject({ q: query, website }),
      examples: { query: { q: example.query, website: example.website } },
      events: {
        result: { description: 'one product, up to 4 times', schema: product, example: example.product },
        done: {
          description: 'all there is',
          schema: z.object({ count: z.number(), previewUrl }),
          example: { count: 1, previewUrl: example.previewUrl },
        },
      },
      errors,
    },
    async ({ query: { q, website: text } }) => {
      const site = websiteOrRefuse(text, outgoing);
      return async function* (signal) {
        const products: Product[] = [];
        for await (const one of merchants.search(site, q, signal)) {
          products.push(one);
          yield { event: 'result', data: describeProduct(one) };
          if (products.length === mostShown) break;
        }
        if (signal.aborted) return;
        const token = await createPreview(db, { website: site.name, query: q, products });
        yield {
          event: 'done',
          data: { count: products.length, previewUrl: previewAddress(publicUrl(), token) },
        };
      };
    },
  );
}

function previewAddress(publicUrl: string, token: string): string {
  return `${publicUrl}/shopping/preview/${token}`;
}
