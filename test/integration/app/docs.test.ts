import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const fromRoot = (path: string) => new URL(`../../../${path}`, import.meta.url);
const tests = ['src', 'sandbox', 'test'].flatMap((folder) =>
  readdirSync(fromRoot(folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts'))
    .map((path) => `${folder}/${path}`),
);

test('every test that the page on security leans on is there', () => {
  const page = readFileSync(fromRoot('docs/security.md'), 'utf8');
  const named = [...page.matchAll(/`([\w/-]+(?:\.matrix)?\.test\.ts)`/g)].map(([, path = '']) => path);
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((path) => !tests.some((file) => file === path || file.endsWith(`/${path}`)))).toEqual([]);
});

test('every page that another one links to is there', () => {
  const pages = readdirSync(fromRoot('docs')).filter((name) => name.endsWith('.md'));
  for (const page of ['README.md', ...pages.map((name) => `docs/${name}`)]) {
    const linked = [
      ...readFileSync(fromRoot(page), 'utf8').matchAll(/`(docs\/[\w/.-]+\.\w+)`|\]\((?!https?:)([^)#]+)\)/g),
    ];
    for (const [, code, link] of linked) {
      const path = code ?? link ?? '';
      expect(existsSync(fromRoot(path)) || existsSync(fromRoot(`docs/${path}`)), `${page} names ${path}`).toBe(true);
    }
  }
});
