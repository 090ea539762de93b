import type { FastifyRequest } from 'fastify';
import { parseUrl } from '../../kernel/text/parse-url.ts';

/** Only to pages of the owner. Anything else, such as another site, leads to the overview. */
export function whereTo(next: string | undefined): string {
  return next !== undefined && places.some((place) => place.test(next)) ? next : '/app';
}

const places = [
  /^\/(?:app(?:\/[\w-]+)*|approve\/[\w-]+)(?:\?[\w=&-]*)?$/,
  // With what a client asks for, in every character that a browser leaves as it is.
  /^\/oauth\/authorize\?[\x21-\x7e]*$/,
];

/** The page that `?next=` names, as it was asked for. */
export function askedNext({ url }: FastifyRequest): string | undefined {
  return new URLSearchParams(url.split('?')[1]).get('next') ?? undefined;
}

/** The path of the page whose form was sent, without the path of the service (`base`). The browser may not say. */
export function cameFrom({ headers }: FastifyRequest, base: string): string | undefined {
  const from = headers.referer;
  const path = from === undefined ? undefined : parseUrl(from)?.pathname;
  return path?.startsWith(`${base}/`) ? path.slice(base.length) : undefined;
}
