import type { FastifyInstance, FastifyReply } from 'fastify';
import { addressOf } from '../kernel/http/doors.ts';
import { holderOf, type RequestHolder } from '../kernel/http/holder.ts';
import { toProblem } from '../kernel/http/send-problem.ts';
import { NoPlace } from '../kernel/places/no-place.ts';
import type { Picture } from '../shopping/search/pictures.ts';
import type { Preview, PreviewProduct } from '../shopping/search/preview.ts';
import { contentPolicy } from './content-policy.ts';
import { type Html, html } from './html.ts';
import { layout, type PageContext } from './layout.ts';

export interface PreviewPageParts {
  readonly context: () => PageContext;
  readonly find: (token: string) => Promise<Preview | undefined>;
  readonly readPicture: (url: string, holder: RequestHolder) => Promise<Picture | undefined>;
  /** Where a browser finds what a product's link names: in the sandbox the demo shop has a name that only we know. */
  readonly linkFor: (url: string) => string;
}

/** What a search has found, with its photos, for whoever has the address. Every photo comes through us. */
export function addPreviewPage(app: FastifyInstance, { context, find, readPicture, linkFor }: PreviewPageParts): void {
  app.get<{ Params: { token: string } }>('/shopping/preview/:token', async ({ params: { token } }, reply) => {
    const preview = await find(token);
    const page =
      preview === undefined
        ? missingPage(context())
        : previewPage(preview, { ...context(), linkFor, picturesAt: `${context().base}/shopping/preview/${token}/` });
    return reply
      .code(preview === undefined ? 404 : 200)
      .headers({
        'Content-Security-Policy': contentPolicy,
        'Cache-Control': 'no-store',
        'X-Robots-Tag': 'noindex, nofollow',
      })
      .type('text/html; charset=utf-8')
      .send(page.toString());
  });

  app.get<{ Params: { token: string; place: string } }>('/shopping/preview/:token/:place', async (request, reply) => {
    const { token, place } = request.params;
    const products = /^[0-9]$/.test(place) ? (await find(token))?.products : undefined;
    const picture = products?.[Number(place)]?.picture;
    try {
      const found = picture && (await readPicture(picture.url, holderOf({ ip: addressOf(request) })));
      return found === undefined ? sendNothing(reply.code(404)) : sendPicture(reply, found);
    } catch (error) {
      if (!(error instanceof NoPlace)) throw error;
      const { status, extras } = toProblem(error);
      return sendNothing(reply.code(status).headers(extras.headers ?? {}));
    }
  });
}

/** The bytes are a stranger's: shown as the picture they are, and as nothing else. */
function sendPicture(reply: FastifyReply, { type, bytes }: Picture): FastifyReply {
  return reply
    .headers({
      'Content-Security-Policy': "default-src 'none'; sandbox",
      'Content-Disposition': 'inline',
      'Cross-Origin-Resource-Policy': 'same-origin',
      'Cache-Control': 'private, max-age=3600',
      'X-Robots-Tag': 'noindex, nofollow',
    })
    .type(type)
    .send(bytes);
}

/** A grey frame instead of a broken one: browsers show the picture of an answer whatever its status. */
function sendNothing(reply: FastifyReply): FastifyReply {
  return reply.type('image/svg+xml').send(nothing);
}

const nothing =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100"><rect width="100" height="100" fill="#dfe4e1"/><path d="M28 66l16-20 11 13 8-9 12 16z" fill="#b7c1bc"/><circle cx="64" cy="37" r="6" fill="#b7c1bc"/></svg>';

interface PreviewContext extends PageContext {
  readonly picturesAt: string;
  readonly linkFor: (url: string) => string;
}

function previewPage({ website, query, products }: Preview, context: PreviewContext): Html {
  return layout(
    {
      title: `“${query}” at ${website}`,
      description: `What ${website} has for “${query}”.`,
      name: 'preview',
      styles: ['preview.css'],
      unlisted: true,
      body: html`
<main id="main">
<h1><span class="where">${website}</span> <bdi>${query}</bdi></h1>
${
  products.length === 0
    ? html`<p class="lead">The shop has found nothing for this. Other words may find more.</p>`
    : html`<ul class="products">${products.map((product, place) => productCard(product, place, context))}</ul>
<p class="note">Photos, names and prices are the shop’s own, as they were when it was searched. What an order costs in the end, the shop says when it is placed.</p>`
}
</main>`,
    },
    context,
  );
}

function productCard(product: PreviewProduct, place: number, { picturesAt, linkFor }: PreviewContext): Html {
  const { title, brand, price, url, picture, available, choices } = product;
  return html`<li><a href="${linkFor(url)}" rel="noopener noreferrer nofollow ugc" target="_blank">
<span class="photo">${
    picture === undefined
      ? html`<span class="no-photo">No photo</span>`
      : html`<img src="${picturesAt}${place}" alt="${picture.alt}" width="400" height="400" loading="lazy">`
  }</span>
<span class="maker"><bdi>${brand}</bdi></span>
<strong><bdi>${title}</bdi></strong>
<span class="price"><bdi>${price}</bdi>${available === false && html` <span class="sold-out">Sold out</span>`}</span>
${choices !== undefined && html`<span class="choices"><bdi>${choices}</bdi></span>`}
</a></li>`;
}

function missingPage(context: PageContext): Html {
  return layout(
    {
      title: 'No such preview',
      description: 'There is no preview at this address.',
      name: 'preview',
      styles: ['preview.css'],
      unlisted: true,
      body: html`
<main id="main">
<section class="missing"><h1>There is nothing to see here</h1>
<p class="lead">Previews are kept for a day, and this one is gone, or its address was cut short. Search again for a new one.</p></section>
</main>`,
    },
    context,
  );
}
