import { expect, it } from 'vitest';
import { useParser } from '../../../test/support/parser.ts';
import type { Outgoing } from '../../kernel/outgoing/outgoing.ts';
import { describeAgent } from './agent.ts';
import { createRobotsCache, openSite } from './merchant-site.ts';

const agent = () => describeAgent('https://pay.example');
const parser = useParser();

/** A web with these responses: a redirect or a page. */
function webOf(pages: Readonly<Record<string, { readonly location: string } | string>>): Outgoing {
  return {
    explainRefusal: () => undefined,
    async request({ url }) {
      const page = pages[url];
      const body = Buffer.from(typeof page === 'string' ? page : '');
      if (typeof page === 'object') return { status: 302, headers: { ...page }, body, durationMs: 1 };
      return { status: page === undefined ? 404 : 200, headers: {}, body, durationMs: 1 };
    },
    close: async () => {},
  };
}

function open(pages: Parameters<typeof webOf>[0]) {
  const robots = createRobotsCache({ clock: { now: () => 0 } });
  const website = { origin: 'https://shop.example', name: 'shop.example' };
  return openSite({ outgoing: webOf(pages), parser, robots, agent }, website, new AbortController().signal);
}

it('is found where the whole site has moved to', async () => {
  const site = await open({ 'https://shop.example/robots.txt': { location: 'https://www.shop.example/robots.txt' } });
  expect(site.origin).toBe('https://www.shop.example');
});

it('stays where it is when only its robots.txt is kept elsewhere, whose own one that is not', async () => {
  const site = await open({
    'https://shop.example/robots.txt': { location: 'https://files.shop.example/robots/shop.txt' },
    'https://files.shop.example/robots/shop.txt': 'User-agent: *\nDisallow: /checkout',
    'https://files.shop.example/checkout/mug.png': 'a mug',
  });
  expect(site.origin).toBe('https://shop.example');
  await expect(site.get('https://shop.example/checkout')).rejects.toThrow(/robots\.txt/);
  expect((await site.get('https://files.shop.example/checkout/mug.png')).status).toBe(200);
});
