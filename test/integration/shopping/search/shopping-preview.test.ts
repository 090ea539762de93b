import type { ServerResponse } from 'node:http';
import { beforeAll, describe, expect, test } from 'vitest';
import { encodePng } from '../../../../sandbox/shop/pictures/draw-picture.ts';
import { forgetPreviews } from '../../../../src/shopping/search/preview.ts';
import type { TestAccount } from '../../../support/client.ts';
import { startTestShop } from '../../../support/merchant.ts';
import { useService } from '../../../support/service.ts';

const shop = await startTestShop();
const secret = await startTestShop();
const walled = await startTestShop();
const service = useService({ env: { ALLOW_PRIVATE_HOSTS: `${shop.website},${walled.website}` } });
let ada: TestAccount;
beforeAll(async () => {
  ada = await service.client.register();
});

const photo = encodePng(2, 2, Buffer.alloc(12, 120));
const hostile = `Mug "><script>alert(1)</script><img src=x onerror='alert(2)'>`;
const answerPicture =
  (bytes: Buffer | string, type = 'image/png') =>
  (_asked: unknown, response: ServerResponse) =>
    response.writeHead(200, { 'content-type': type }).end(bytes);

let searches = 0;

/** What the page of a search shows when the shop has one product with this picture. */
async function preview(
  image: string | null,
  more: Record<string, (asked: unknown, response: ServerResponse) => unknown> = {},
) {
  shop.answers = {
    '/cart.js': { currency: 'USD' },
    '/search/suggest.json': {
      resources: {
        results: { products: [{ title: hostile, vendor: 'V', price: '5.00', url: `/mug-${++searches}`, image }] },
      },
    },
    ...more,
  };
  // Other words each time, because answers are kept for a minute.
  const query = `mug ${'abcdefghijklmnopqrstuvwxyz'[searches % 26]}${searches}`;
  const { body } = await service.client.post('/shopping/search', { website: shop.website, query }, ada.key);
  const picture = await fetch(`${body.previewUrl}/0`);
  return { url: body.previewUrl as string, picture, bytes: Buffer.from(await picture.arrayBuffer()) };
}

describe('the page of a search', () => {
  test('shows what a product is sold in', async () => {
    const asked = { website: 'demo-shop.example', query: 'linen shirt' };
    const { body } = await service.client.post('/shopping/search', asked, ada.key);
    expect(await (await fetch(body.previewUrl)).text()).toContain('S $30.00 · M $35.00 · L $39.00');
  });

  test('shows the products to whoever has its address, and runs nothing', async () => {
    const { url, picture, bytes } = await preview('/photo.png', { '/photo.png': answerPicture(photo) });
    const reply = await fetch(url);
    const page = await reply.text();
    expect(reply.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(reply.headers.get('cache-control')).toBe('no-store');
    expect(reply.headers.get('x-robots-tag')).toContain('noindex');
    expect(reply.headers.get('referrer-policy')).toBe('no-referrer');
    expect(page).not.toMatch(/<script>|onerror|<img src=x/);
    expect(page).toContain('$5.00');
    expect(page).toContain(`href="${shop.origin}/mug-`);
    expect(page).not.toMatch(/<img[^>]+src="https?:/);
    expect([picture.status, picture.headers.get('content-type')]).toEqual([200, 'image/png']);
    expect(picture.headers.get('content-security-policy')).toBe("default-src 'none'; sandbox");
    expect(picture.headers.get('x-content-type-options')).toBe('nosniff');
    expect(bytes.equals(photo)).toBe(true);
  });

  test('is not found by anything else, nor after its time', async () => {
    const { url } = await preview('/photo.png', { '/photo.png': answerPicture(photo) });
    const token = url.split('/').at(-1) ?? '';
    for (const wrong of [
      token.slice(1),
      `${token}0`,
      `${token.toLowerCase()}A`,
      '%00',
      "'--",
      '..%2f',
      'x'.repeat(300),
    ]) {
      expect([wrong, (await fetch(`${service.url}/shopping/preview/${wrong}`)).status]).toEqual([wrong, 404]);
    }
    for (const place of ['1', '9', '-1', '00', 'x', '0%2f']) expect((await fetch(`${url}/${place}`)).status).toBe(404);
    await service.database.db.query(
      `UPDATE shopping_previews SET created_at = now() - interval '25 hours', expires_at = now() - interval '1 hour' WHERE token = $1`,
      [token],
    );
    expect((await fetch(url)).status).toBe(404);
    expect((await fetch(`${url}/0`)).status).toBe(404);
    await forgetPreviews(service.database.db);
    const { rows } = await service.database.db.query(
      'SELECT token, expires_at > now() AS alive FROM shopping_previews',
    );
    expect(rows.every(({ alive }) => alive)).toBe(true);
    expect(rows.map(({ token: kept }) => kept)).not.toContain(token);
  });

  test('has a new address each time, though the answer is kept', async () => {
    const ask = () =>
      service.client.post('/shopping/search', { website: 'closed-shop.example', query: 'notebook' }, ada.key);
    const [first, second] = [await ask(), await ask()];
    expect(first.body.products).toEqual(second.body.products);
    expect(first.body.previewUrl).not.toBe(second.body.previewUrl);
  });
});

describe('a picture', () => {
  const header = (width: number, height: number) => {
    const png = Buffer.from(photo);
    png.writeUInt32BE(width, 16);
    png.writeUInt32BE(height, 20);
    return png;
  };

  test.each([
    ['SVG', answerPicture('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>', 'image/svg+xml')],
    ['SVG that calls itself PNG', answerPicture('<svg xmlns="http://www.w3.org/2000/svg"></svg>')],
    ['HTML', answerPicture('<script>alert(1)</script>', 'text/html')],
    ['a picture that calls itself HTML', answerPicture(photo, 'text/html')],
    ['a picture of too many pixels', answerPicture(header(7_999, 7_999))],
    ['a picture that is too wide', answerPicture(header(100_000, 1))],
    ['a picture of no size', answerPicture(header(0, 5))],
    ['too many bytes', answerPicture(Buffer.concat([photo, Buffer.alloc(5_000_000)]))],
    ['nothing', (_: unknown, response: ServerResponse) => response.writeHead(404).end()],
    [
      'a redirect inside',
      (_: unknown, response: ServerResponse) =>
        response.writeHead(302, { location: `${secret.origin}/photo.png` }).end(),
    ],
    [
      'a redirect to the machine',
      (_: unknown, response: ServerResponse) => response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
    ],
  ])('that is %s is not shown', async (_what, answer) => {
    secret.answers = { '/photo.png': answerPicture(photo) };
    const { picture, bytes } = await preview(`/photo-${searches}.png`, { [`/photo-${searches}.png`]: answer });
    expect([picture.status, picture.headers.get('content-type')]).toEqual([404, 'image/svg+xml']);
    expect(bytes.toString()).toMatch(/^<svg [^>]*><rect/);
    expect(bytes.toString()).not.toContain('script');
    expect(secret.asked).toEqual([]);
  });

  test('that robots may not read is not read', async () => {
    walled.answers = {
      '/robots.txt': 'User-agent: *\nDisallow: /photos/',
      '/photos/x.png': answerPicture(photo),
      '/x.png': answerPicture(photo),
    };
    expect((await preview(`${walled.origin}/photos/x.png`)).picture.status).toBe(404);
    expect((await preview(`${walled.origin}/x.png`)).picture.status).toBe(200);
    expect(walled.asked.map(({ path }) => path)).toEqual(['/robots.txt', '/x.png']);
  });

  test('is asked for once, however many look at it', async () => {
    const name = `/shared-${searches}.png`;
    const { url } = await preview(name, { [name]: answerPicture(photo) });
    await Promise.all(Array.from({ length: 8 }, () => fetch(`${url}/0`).then((reply) => reply.arrayBuffer())));
    expect(shop.asked.filter(({ path }) => path === name)).toHaveLength(1);
  });
});
