import { Html, html } from '../../src/web/html.ts';
import { picturePath, priceText, productPath } from './catalog.ts';
import { linePrice, type Order, type Session, type SessionLine } from './checkout/session.ts';
import type { ShopReply } from './message.ts';
import type { Shop } from './shop.ts';

const mostShown = 100;

/** The pages for orders and open checkouts. Undefined for any other path. */
export function answerOrderPage(shop: Shop, pathname: string): ShopReply | undefined {
  const { checkout } = shop;
  if (checkout === undefined) return undefined;
  if (pathname === '/orders') return framePage(shop, `Orders – ${shop.name}`, list(checkout.orders()));
  const [, place, id = ''] = /^\/(orders|checkout)\/([A-Za-z0-9_-]+)$/.exec(pathname) ?? [];
  if (place === 'orders') {
    const order = checkout.findOrder(id);
    return order && framePage(shop, `Order ${order.id} – ${shop.name}`, details(order));
  }
  const session = place === 'checkout' ? checkout.findSession(id) : undefined;
  return session && framePage(shop, `Your basket – ${shop.name}`, basket(session));
}

function list(orders: readonly Order[]): Html {
  if (orders.length === 0) {
    return html`<section class="words"><h1>No orders yet</h1><p>When an agent buys something here, its order appears on this page. <a href="/">Look around the shop</a>.</p></section>`;
  }
  const shown = orders.slice(0, mostShown);
  return html`<section class="words"><h1>Orders</h1><p>${orders.length === 1 ? 'One order' : `${orders.length} orders`}, the newest first.</p></section>
<ul class="orders">${shown.map(
    (order) => html`<li><a href="/orders/${order.id}">
${order.lines.slice(0, 1).map((line) => html`<img src="${picturePath(line)}" alt="" width="64" height="64" loading="lazy">`)}
<span class="order-what"><span class="order-name">${whatOf(order)}</span><span class="maker">${order.id} · ${order.name}, ${order.city}</span></span>
<span class="order-sum"><span class="price">${sumText(order.totalCents, order)}</span><span class="state">Paid</span></span></a></li>`,
  )}</ul>`;
}

function whatOf({ lines }: Order): string {
  const [first, ...more] = lines;
  const count = first === undefined || first.quantity === 1 ? '' : `${first.quantity} × `;
  return `${count}${first?.title ?? ''}${more.length > 0 ? ` and ${more.length} more` : ''}`;
}

function details(order: Order): Html {
  return html`<section class="words"><p class="maker"><a href="/orders">Orders</a></p><h1>Order ${order.id}</h1>
<p><span class="state">Paid</span> on ${dateText(order.placedAt)}</p></section>
<div class="receipt">${lines(order.lines, order)}
<dl><div><dt>${order.shipping} shipping</dt><dd class="price">${sumText(order.shippingCents, order)}</dd></div>
<div class="sum"><dt>Total, tax included</dt><dd class="price">${sumText(order.totalCents, order)}</dd></div>
<div><dt>Goes to</dt><dd>${order.name}, ${order.city}</dd></div></dl></div>`;
}

function basket(session: Session): Html {
  return html`<section class="words"><h1>Your basket</h1><p>An agent is buying this for you and asks you to check it first. In a real shop you would continue here.</p></section>
<div class="receipt">${lines(session.lines, session)}</div>`;
}

function lines(all: readonly SessionLine[], { currency }: Pick<Order, 'currency'>): Html {
  return html`<ul class="lines">${all.map(
    (line) => html`<li><img src="${picturePath(line)}" alt="" width="64" height="64" loading="lazy">
<span class="order-what"><a href="${productPath(line)}">${line.title}</a><span class="maker">${line.quantity} × ${sumText(line.cents, { currency })}</span></span>
<span class="price">${sumText(linePrice(line), { currency })}</span></li>`,
  )}</ul>`;
}

function sumText(cents: number, { currency }: Pick<Order, 'currency'>): string {
  return priceText({ cents, currency });
}

function dateText(at: number): string {
  const text = new Intl.DateTimeFormat('en', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' }).format(at);
  return `${text} UTC`;
}

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
