import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Queryable } from '../kernel/db/database.ts';
import { holderOf } from '../kernel/http/holder.ts';
import { addressOf } from '../kernel/http/request-guards.ts';
import { toProblem } from '../kernel/http/send-problem.ts';
import { NoPlace } from '../kernel/places/places.ts';
import type { Shopping } from '../shopping/search/open-shopping.ts';
import type { Picture } from '../shopping/search/pictures.ts';
import { findPreview, type Preview, type PreviewProduct } from '../shopping/search/preview.ts';
import { type Html, html } from './html.ts';
import { layout, type PageContext, sayingPage, sendPrivate } from './layout.ts';

export interface PreviewPageParts {
  readonly context: () => PageContext;
  readonly db: Queryable;
  readonly shops: Pick<Shopping, 'pictures'>;
  /** Translates a product link for the browser: the name of the sandbox's demo shop resolves only inside the service. */
  readonly linkFor: (url: string) => string;
}

const missing = {
  name: 'preview',
  styles: ['preview.css'],
  heading: 'Preview not found',
  description: 'There is no preview at this address.',
  text: 'Previews expire after one day. This one has expired, or its link is incomplete. Search again to get a new one.',
} as const;

/** The results of a search. The service fetches every photo, so the viewer's browser contacts no shop. */
export function addPreviewPage(app: FastifyInstance, { context, db, shops, linkFor }: PreviewPageParts): void {
  app.get<{ Params: { token: string } }>('/shopping/preview/:token', async ({ params: { token } }, reply) => {
    const preview = await findPreview(db, token);
    if (preview === undefined) return sendPrivate(reply.code(404), sayingPage(missing, context()));
    const picturesAt = `${context().base}/shopping/preview/${token}/`;
    return sendPrivate(reply, previewPage(preview, { ...context(), linkFor, picturesAt }));
  });

  app.get<{ Params: { token: string; place: string } }>('/shopping/preview/:token/:place', async (request, reply) => {
    const { token, place } = request.params;
    const products = /^[0-9]$/.test(place) ? (await findPreview(db, token))?.products : undefined;
    const picture = products?.[Number(place)]?.picture;
    try {
      const found = picture && (await shops.pictures.read(picture.url, holderOf({ ip: addressOf(request) })));
      return found === undefined ? sendNothing(reply.code(404)) : sendPicture(reply, found);
    } catch (error) {
      if (!(error instanceof NoPlace)) throw error;
      const { status, extras } = toProblem(error);
      return sendNothing(reply.code(status).headers(extras.headers ?? {}));
    }
  });
}

/** The bytes come from a shop, so the headers keep the browser from treating them as anything but a picture. */
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

/** Browsers show the picture of a response whatever its status, so a placeholder replaces the broken-image icon. */
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
    ? html`<p class="lead">The shop found nothing for this search. Try other words.</p>`
    : html`<ul class="products">${products.map((product, place) => productCard(product, place, context))}</ul>
<p class="note">Photos, names and prices come from the shop, as of the time of the search. The shop sets the final price when an order is placed.</p>`
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
