import { z } from 'zod';
import { dailyCapErrors, refuseBeyondCap } from '../../kernel/daily-caps/count-today.ts';
import { defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import { defineStream } from '../../kernel/http/define-stream.ts';
import { holderOf } from '../../kernel/http/holder.ts';
import { reads } from '../../kernel/http/tool.ts';
import { shoppingErrors } from './errors.ts';
import { createPreview } from './preview.ts';
import { describeProduct, type Product } from './product.ts';
import {
  foundProducts,
  mostShown,
  previewAddress,
  previewUrl,
  shownProduct as product,
  searchWords as query,
  type SearchParts,
  searchShop,
  website,
  websiteOrRefuse,
} from './search-shop.ts';

export function shoppingRoutes(parts: SearchParts): Route[] {
  return [searchRoute(parts), streamRoute(parts)];
}

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
const errors = [...Object.values(shoppingErrors), dailyCapErrors.daily_cap_reached];

function searchRoute(parts: SearchParts): Route {
  return defineRoute(
    {
      ...facts,
      id: 'searchProducts',
      method: 'POST',
      path: '/shopping/search',
      summary: 'Search a shop',
      tool: { name: 'search_products', title: 'Search a shop', hints: { ...reads, openWorld: true } },
      description:
        'Searches any shop on the web through the interfaces that its platform offers, and returns the best result within 8 seconds. The shop’s texts are stripped of markup and hidden characters, but remain untrusted third-party content.',
      body: z.strictObject({ website, query }),
      examples: { body: { website: example.website, query: example.query } },
      returns: {
        200: {
          description: 'Up to 4 products, best match first',
          schema: foundProducts,
          example: { products: [example.product], previewUrl: example.previewUrl },
        },
      },
      errors,
    },
    async ({ body, caller, ip }) =>
      ok(await searchShop(parts, { ...body, holder: holderOf({ caller, ip }), searcher: caller })),
  );
}

function streamRoute({ db, outgoing, merchants, publicUrl }: SearchParts): Route {
  return defineStream(
    {
      ...facts,
      id: 'streamProducts',
      path: '/shopping/search/stream',
      summary: 'Stream a shop search',
      description:
        'The same search as POST /shopping/search, with each product sent as a Server-Sent Event as soon as it is found. Send `Accept: text/event-stream`. Closing the connection ends the search.',
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
    async ({ query: { q, website: text }, caller, ip }) => {
      const site = websiteOrRefuse(text, outgoing);
      if (caller !== undefined) await refuseBeyondCap(db, caller, 'searches');
      const holder = holderOf({ caller, ip });
      // Once the stream has begun, a refusal could no longer set the status.
      merchants.refuseWithoutRoom(holder);
      return async function* (signal) {
        const products: Product[] = [];
        for await (const one of merchants.of(holder).search(site, q, signal)) {
          products.push(one);
          yield { event: 'result', data: describeProduct(one) };
          if (products.length === mostShown) break;
        }
        if (signal.aborted) return;
        const token = await createPreview(db, { website: site.name, query: q, products, searcher: caller });
        yield { event: 'done', data: { count: products.length, previewUrl: previewAddress(publicUrl(), token) } };
      };
    },
  );
}
