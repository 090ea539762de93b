import { type Html, html, type Part } from '../../src/web/html.ts';
import { findInCatalog, picturePath, priceText, productPath, type ShopProduct, variantsOf } from './catalog.ts';
import type { ShopReply } from './message.ts';
import { answerOrderPage, framePage } from './order-pages.ts';
import type { Shop, ShopRequest } from './shop.ts';
import { describeProduct, describeResults, describeSite } from './ways/json-ld.ts';

/** The shop's pages. Undefined for any other path. */
export function answerPage({ shop, origin, url }: ShopRequest): ShopReply | undefined {
  const { pathname, searchParams } = url;
  const searchable = shop.ways.includes('json-ld');
  if (pathname === '/') return framePage(shop, shop.name, home(shop), searchable && describeSite(shop, origin));
  if (pathname === '/search' && searchable) {
    const query = searchParams.get('q') ?? '';
    const found = findInCatalog(shop.products, query);
    return framePage(shop, `“${query}” at ${shop.name}`, results(query, found), describeResults(found, origin));
  }
  const product = shop.products.find((one) => productPath(one) === pathname);
  if (product === undefined) return answerWordsPage(shop, pathname) ?? answerOrderPage(shop, pathname);
  return framePage(
    shop,
    `${product.title} – ${shop.name}`,
    details(product),
    searchable && describeProduct(product, origin),
  );
}

/** Privacy and terms, which every checkout links to. */
function answerWordsPage(shop: Shop, pathname: string): ShopReply | undefined {
  const [title, text] =
    (
      {
        '/privacy': ['Privacy', 'We store the name and the city of each order, and share them with no one.'],
        '/terms': ['Terms', 'Nothing here is real: no money is taken, and nothing is ever sent.'],
      } as const
    )[pathname] ?? [];
  if (shop.checkout === undefined || title === undefined) return undefined;
  return framePage(
    shop,
    `${title} – ${shop.name}`,
    html`<section class="words"><h1>${title}</h1><p>${text}</p></section>`,
  );
}

export function missingPage(shop: Shop): ShopReply {
  const words = html`<section class="words"><h1>Not on this shelf</h1><p>There is no such page. <a href="/">Look around the shop</a>.</p></section>`;
  return { ...framePage(shop, 'Not found', words), status: 404 };
}

function home(shop: Shop): Html {
  const categories = [...new Set(shop.products.map(({ category }) => category))];
  return html`<section class="words"><h1>${shop.tagline}</h1></section>
${categories.map(
  (category) =>
    html`<section><h2>${category}</h2>${shelf(shop.products.filter((product) => product.category === category))}</section>`,
)}`;
}

function results(query: string, found: readonly ShopProduct[]): Html {
  const count: Part = found.length === 0 ? 'Nothing' : found.length === 1 ? 'One thing' : `${found.length} things`;
  return html`<section class="words"><h1>${count} for “${query}”</h1></section>${found.length > 0 && shelf(found)}`;
}

function shelf(products: readonly ShopProduct[]): Html {
  return html`<ul class="shelf">${products.map(
    (product) => html`<li><a href="${productPath(product)}">
<img src="${picturePath(product)}" alt="A drawing of ${product.title}" width="400" height="400" loading="lazy">
<strong>${product.title}</strong><span class="maker">${product.maker}</span><span class="price">${product.sizes.length > 0 && 'from '}${priceText(product)}</span></a></li>`,
  )}</ul>`;
}

/** One price, or the price of each size. */
function priceLine(product: ShopProduct): string {
  const { currency } = product;
  if (product.sizes.length === 0) return priceText(product);
  return variantsOf(product)
    .map(({ size, cents }) => `${size} ${priceText({ cents, currency })}`)
    .join(' · ');
}

function details(product: ShopProduct): Html {
  const shipping =
    product.shippingCents === 0
      ? 'Free shipping'
      : `Shipping ${priceText({ cents: product.shippingCents, currency: product.currency })}`;
  return html`<article class="details">
<img src="${picturePath(product)}" alt="A drawing of ${product.title}" width="400" height="400">
<div><p class="maker">${product.maker}</p><h1>${product.title}</h1>
<p class="price">${priceLine(product)}</p>
<p>${product.description}</p>
<p class="note">${product.inStock ? 'In stock' : 'Sold out for now'} · Tax included · ${shipping}</p></div>
</article>`;
}
