import { describe, expect, it } from 'vitest';
import { mayRead, readRobots } from './robots.ts';

const rulesOf = (text: string, agent = 'PaywrightBot') =>
  readRobots({ bytes: Buffer.from(text), type: 'text/plain', agent });

function allows(text: string, path: string, agent?: string): boolean {
  const { pathname, search } = new URL(path, 'https://shop.example');
  return mayRead({ rules: rulesOf(text, agent), path: pathname + search });
}

describe('robots.txt', () => {
  it.each([
    ['', '/x', true],
    ['User-agent: *\nDisallow: /', '/x', false],
    ['User-agent: *\nDisallow: /', '/robots.txt', true],
    ['User-agent: *\nDisallow:', '/x', true],
    ['User-agent: *\nDisallow: /search', '/search?q=mug', false],
    ['User-agent: *\nDisallow: /search', '/Search', true],
    ['User-agent: *\nDisallow: /\nAllow: /search', '/search/suggest.json?q=x', true],
    ['User-agent: *\nAllow: /p\nDisallow: /', '/page', true],
    ['User-agent: *\nDisallow: /page\nAllow: /page', '/page', true],
    ['User-agent: *\nDisallow: /*.json$', '/a.json', false],
    ['User-agent: *\nDisallow: /*.json$', '/a.json?x', true],
    ['User-agent: *\nDisallow: /*?s=', '/?s=mug', false],
    ['User-agent: *\nDisallow: /a*b*c', '/a1b2c3', false],
    ['User-agent: *\nDisallow: /a*b*c$', '/abcb', true],
    ['User-agent: *\nDisallow: /$', '/', false],
    ['User-agent: *\nDisallow: /$', '/x', true],
    ['User-agent: *\nDisallow: /caf%C3%A9', '/café/x', false],
    ['User-agent: *\nDisallow: /café', '/caf%c3%a9/x', false],
    ['User-agent: *\nDisallow: /%7Ejoe', '/~joe', false],
    ['user-agent:*\rdisallow:/x # not this\r\n', '/x', false],
    ['\ufeffUser-agent: *\nDisallow: /', '/', false],
    // A group that names us replaces the group for `*`.
    ['User-agent: *\nDisallow: /\n\nUser-agent: paywrightbot\nDisallow: /cart', '/x', true],
    ['User-agent: *\nAllow: /\nUser-agent: PaywrightBot/2.1\nDisallow: /', '/x', false],
    ['User-agent: PaywrightBotanist\nDisallow: /', '/x', true],
    ['User-agent: a\nUser-agent: PaywrightBot\nDisallow: /x', '/x', false],
    [
      'User-agent: PaywrightBot\nDisallow: /x\n\nUser-agent: b\nDisallow: /\n\nUser-agent: PaywrightBot\nDisallow: /y',
      '/y',
      false,
    ],
    ['User-agent: PaywrightBot\nDisallow: /x\nUser-agent: *\nDisallow: /y', '/y', true],
    ['User-agent: PaywrightBot\n\nUser-agent: *\nDisallow: /', '/', false],
    ['Disallow: /', '/x', true],
    ['Sitemap: https://shop.example/s.xml\nUser-agent: *\nCrawl-delay: 10\nDisallow: /x', '/x', false],
    ['<html>User-agent: *</html>', '/x', true],
  ])('%j: %s → %s', (text, path, expected) => {
    expect(allows(text, path)).toBe(expected);
  });

  it('without rules allows everything', () => {
    expect(mayRead({ rules: '', path: '/x' })).toBe(true);
  });

  it('is read whole, whatever it is made of', () => {
    const hostile = `User-agent: *\nDisallow: /${'*a'.repeat(20_000)}$\nDisallow: ${'/*'.repeat(20_000)}\nDisallow: \ud800`;
    expect(allows(hostile, `/${'a'.repeat(1_500)}`)).toBe(true);
    const many = `User-agent: *\n${Array.from({ length: 40_000 }, (_, index) => `Disallow: /${index}`).join('\n')}`;
    expect(allows(many, '/39999')).toBe(false);
  });
});
