import { Html, html } from '../../src/web/html.ts';
import type { ShopReply } from './message.ts';
import { picturePath } from './product-links.ts';
import type { Shop } from './shop.ts';

/** A page of the shop, with its JSON-LD. */
export function framePage(shop: Shop, title: string, content: Html, data: object | false = false): ShopReply {
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
<div class="shop-tools">${shop.checkout && html`<a href="/orders">Orders</a>`}
${
  shop.ways.includes('json-ld') &&
  html`<form role="search" action="/search"><input type="search" name="q" aria-label="Search the shop" placeholder="Search" required></form>`
}</div></header>
<main id="main">${content}</main>
<footer><p>${shop.name} is a demo shop of the Paywright sandbox. Its prices include tax, and nothing in it is real.</p></footer>
</body>
</html>
`;
  return { status: 200, type: 'text/html; charset=utf-8', body: markup.toString() };
}

/** In a script element only "<" can be read as markup. */
function asScript(data: object): Html {
  return new Html(JSON.stringify(data).replaceAll('<', '\\u003c'));
}
