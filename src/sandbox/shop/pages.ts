import { Html, html, type Part } from '../../web/html.ts';
import { findInCatalog, type ShopProduct } from './catalog.ts';
import { picturePath, priceText, productPath, type Shop, type ShopReply, type ShopRequest } from './shop.ts';
import { describeProduct, describeResults, describeSite } from './ways/json-ld.ts';

/** The shop as people see it. Undefined for an address that is none of its pages. */
export function answerPage({ shop, origin, url }: ShopRequest): ShopReply | undefined {
  const { pathname, searchParams } = url;
  const searchable = shop.ways.includes('json-ld');
  if (pathname === '/') return page(shop, shop.name, home(shop), searchable && describeSite(shop, origin));
  if (pathname === '/search' && searchable) {
    const query = searchParams.get('q') ?? '';
    const found = findInCatalog(shop.products, query);
    return page(shop, `“${query}” at ${shop.name}`, results(query, found), describeResults(found, origin));
  }
  const product = shop.products.find((one) => productPath(one) === pathname);
  if (product === undefined) return undefined;
  return page(
    shop,
    `${product.title} – ${shop.name}`,
    details(product),
    searchable && describeProduct(product, origin),
  );
}

export function missingPage(shop: Shop): ShopReply {
  const words = html`<section class="words"><h1>Not on this shelf</h1><p>There is no such page. <a href="/">Look around the shop</a>.</p></section>`;
  return { ...page(shop, 'Not found', words, false), status: 404 };
}

function page(shop: Shop, title: string, content: Html, data: object | false): ShopReply {
  const markup = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<meta property="og:site_name" content="${shop.name}">
${shop.products.slice(0, 1).map((product) => html`<link rel="icon" type="image/png" href="${picturePath(product)}">`)}
<link rel="stylesheet" href="/shop.css">
${data !== false && html`<script type="application/ld+json">${asScript(data)}</script>`}
</head>
<body>
<header class="shop-bar"><a class="shop-name" href="/">${shop.name}</a>
${
  shop.ways.includes('json-ld') &&
  html`<form role="search" action="/search"><input type="search" name="q" aria-label="Search the shop" placeholder="Search" required></form>`
}</header>
<main id="main">${content}</main>
<footer><p>${shop.name} is a demo shop of the Paywright sandbox. Its prices include tax, and nothing in it is real.</p></footer>
</body>
</html>
`;
  return { status: 200, type: 'text/html; charset=utf-8', body: markup.toString() };
}

/** Inside a script nothing is read as markup but what would end it. */
function asScript(data: object): Html {
  return new Html(JSON.stringify(data).replaceAll('<', '\\u003c'));
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

/** The drawing is what one looks at; its words stand below. */
function shelf(products: readonly ShopProduct[]): Html {
  return html`<ul class="shelf">${products.map(
    (product) => html`<li><a href="${productPath(product)}">
<img src="${picturePath(product)}" alt="A drawing of ${product.title}" width="400" height="400" loading="lazy">
<strong>${product.title}</strong><span class="maker">${product.maker}</span><span class="price">${priceText(product)}</span></a></li>`,
  )}</ul>`;
}

function details(product: ShopProduct): Html {
  const shipping =
    product.shippingCents === 0
      ? 'Free shipping'
      : `Shipping ${priceText({ cents: product.shippingCents, currency: product.currency })}`;
  return html`<article class="details">
<img src="${picturePath(product)}" alt="A drawing of ${product.title}" width="400" height="400">
<div><p class="maker">${product.maker}</p><h1>${product.title}</h1>
<p class="price">${priceText(product)}</p>
<p>${product.description}</p>
<p class="note">${product.inStock ? 'In stock' : 'Sold out for now'} · Tax included · ${shipping}</p></div>
</article>`;
}
