import type { Clock } from '../../kernel/clock.ts';
import type { RequestHolder } from '../../kernel/http/holder.ts';
import { createPlaceQueue } from '../../kernel/places/place-queue.ts';
import { createExpiringCache } from './expiring-cache.ts';
import { openSite, type SiteParts } from './merchant-site.ts';
import { MerchantTrouble } from './merchant-trouble.ts';
import type { PictureHeader } from './reading/picture-header.ts';
import { readPicture } from './tasks.ts';

/** A shop's picture that was checked and may be served from our own origin. */
export interface Picture {
  readonly type: PictureHeader['type'];
  readonly bytes: Buffer;
}

const mostBytes = 4_000_000;
/** A small file can decompress to more memory than a phone has. */
const mostPixels = 25_000_000;
const longestSide = 8_000;
const withinMs = 7_000;
const keepMs = 10 * 60_000;
const keepFailureMs = 60_000;

/** One preview page has more pictures than one address may fetch at once, so the rest wait in a queue. */
const limits = {
  what: 'pictures',
  inAll: 32,
  shares: { address: 8, network: 16 },
  waiting: { inAll: 256, shares: { address: 16, network: 64 }, patienceMs: 10_000 },
};

/** Fetches and checks pictures from shops, and caches them so that a reload costs the shop no second request. */
export function createPictures(parts: SiteParts & { readonly clock: Clock }) {
  const kept = createExpiringCache<{ readonly picture: Picture | undefined }>({
    clock: parts.clock,
    keepMs,
    room: 48_000_000,
    weigh: ({ picture }) => 1_000 + (picture?.bytes.length ?? 0),
  });
  const underWay = new Map<string, Promise<Picture | undefined>>();
  const places = createPlaceQueue(limits);

  async function fetchPicture(url: string): Promise<Picture | undefined> {
    const { origin, hostname, host, port } = new URL(url);
    const over = new AbortController();
    const timer = setTimeout(() => over.abort(), withinMs);
    try {
      const place = { origin, name: port === '' ? hostname : host };
      const site = await openSite(parts, place, over.signal);
      const accept = 'image/avif,image/webp,image/png,image/jpeg,image/gif';
      const answer = await site.get(url, { accept, maxBytes: mostBytes });
      const claimed = String(answer.headers['content-type'] ?? '');
      if (answer.status !== 200 || !/^image\//i.test(claimed)) return undefined;
      const header = await answer.read(readPicture);
      return header !== undefined && isShowable(header) ? { type: header.type, bytes: answer.bytes } : undefined;
    } catch (error) {
      if (error instanceof MerchantTrouble) return undefined;
      throw error;
    } finally {
      clearTimeout(timer);
      over.abort();
    }
  }

  function find(url: string): Promise<Picture | undefined> | undefined {
    const known = kept.get(url);
    return known === undefined ? underWay.get(url) : Promise.resolve(known.picture);
  }

  function fetchOnce(url: string): Promise<Picture | undefined> {
    const mine = fetchPicture(url)
      .then((picture) => {
        kept.set(url, { picture }, picture === undefined ? keepFailureMs : keepMs);
        return picture;
      })
      .finally(() => underWay.delete(url));
    underWay.set(url, mine);
    return mine;
  }

  return {
    /** Undefined if the picture cannot be fetched or is not safe to show. Throws `NoPlace` if the wait times out. */
    async read(url: string, holder: RequestHolder): Promise<Picture | undefined> {
      const present = find(url);
      if (present !== undefined) return present;
      const place = await places.enter(holder);
      // Another request may have fetched the same picture while this one waited.
      return (find(url) ?? fetchOnce(url)).finally(() => place.leave());
    },
  };
}

function isShowable({ width, height }: PictureHeader): boolean {
  return width > 0 && height > 0 && Math.max(width, height) <= longestSide && width * height <= mostPixels;
}
