import { beforeAll, describe, expect, test } from 'vitest';
import { Paywright } from '../../../packages/sdk/src/index.js';
import type { OpenApiDocument } from '../../../src/kernel/http/openapi.ts';
import { renderMachineDocs } from '../../../src/web/docs/machine-docs.ts';
import { useService } from '../../support/service.ts';

const service = useService();
let document: OpenApiDocument;
let page: string;
const files = new Map<string, string>();

const get = (path: string, headers: Record<string, string> = {}) => fetch(`${service.url}${path}`, { headers });
const text = async (path: string) => (await get(path)).text();

beforeAll(async () => {
  document = (await service.client.get('/openapi.json')).body;
  page = await text('/docs');
  for (const path of ['/docs.md', '/llms.txt', '/llms-full.txt', '/skill.md']) files.set(path, await text(path));
  for (const [, path = ''] of file('/llms.txt').matchAll(/\((?:https?:\/\/[^/]+)(\/docs\/[^)]+)\)/g))
    files.set(path, await text(path));
});

function file(path: string): string {
  const found = files.get(path);
  if (found === undefined) throw new Error(`${path} was not read`);
  return found;
}

/** Level and words, without what marks code or escapes a character. */
function headingsOf(markdown: string): string[] {
  const withoutCode = markdown.replace(/^(```+)\w*\n.*?\n\1$/gms, '');
  return [...withoutCode.matchAll(/^(#+) (.*)$/gm)].map(([, level = '', words = '']) => heading(level.length, words));
}

function headingsOfPage(markup: string): string[] {
  return [...markup.matchAll(/<h([1-6])[^>]*>(.*?)<\/h\1>/gs)].map(([, level, inner = '']) =>
    heading(Number(level), inner.replace(/<[^>]*>/g, '')),
  );
}

function heading(level: number, words: string): string {
  return `${level} ${words.replace(/[`\\]/g, '').replaceAll('&#39;', "'").replace(/\s+/g, ' ').trim()}`;
}

describe('the reference as Markdown', () => {
  test('has the headings of the page, also in its chapters', () => {
    const main = headingsOfPage(page.slice(page.indexOf('<main')));
    expect(main.length).toBeGreaterThan(500);
    expect(headingsOf(file('/docs.md'))).toEqual(main);
    const chapters = [...files].filter(([path]) => path.startsWith('/docs/'));
    expect(chapters.length).toBe(document.tags.length + 2);
    const title = main[0];
    expect(chapters.flatMap(([, chapter]) => headingsOf(chapter)).filter((found) => found !== title)).toEqual(
      main.filter((found) => found !== title),
    );
  });

  test('is linked from the page', () => {
    expect(page).toContain('<link rel="alternate" type="text/markdown" href="/docs.md">');
    expect(page).toMatch(/<main.*href="\/docs\.md".*href="\/llms\.txt".*href="\/skill\.md"/s);
  });

  test('has every operation and every error code in one file, of less than half a megabyte', () => {
    const full = file('/llms-full.txt');
    expect(Buffer.byteLength(full)).toBeLessThan(500_000);
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} \`${path}\``),
    );
    expect(operations.length).toBeGreaterThan(100);
    expect(operations.filter((operation) => !full.includes(`\n${operation} (`))).toEqual([]);
    const responses = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).flatMap((operation) => Object.values(operation.responses)),
    ) as { content?: Record<string, { examples?: Record<string, unknown> }> }[];
    const codes = new Set(
      responses.flatMap(({ content }) => Object.keys(content?.['application/problem+json']?.examples ?? {})),
    );
    expect(codes.size).toBeGreaterThan(100);
    const explained = new Set(headingsOf(full).map((found) => found.replace(/^3 \d+ /, '')));
    expect([...codes, 'outcome_unknown'].filter((code) => !explained.has(code))).toEqual([]);
  });

  test('has only JSON that parses, and every code block ends', () => {
    for (const [path, markdown] of files) {
      const blocks = [...markdown.matchAll(/^(```+)(\w*)\n(.*?)\n\1$/gms)];
      for (const [, , language, code = ''] of blocks)
        if (language === 'json') expect(() => JSON.parse(code), `${path}: ${code}`).not.toThrow();
      expect(markdown.match(/^```/gm) ?? [], path).toHaveLength(blocks.length * 2);
    }
    expect(file('/docs.md').match(/^```json$/gm)?.length).toBeGreaterThan(100);
  });

  test('has no table that a description breaks', () => {
    const columns = (row: string) => row.replace(/\\\|/g, '').split('|').length;
    const tables = file('/skill.md').match(/(?:^\|.*\n)+/gm) ?? [];
    expect(tables.length).toBe(2);
    for (const table of tables) expect(new Set(table.trim().split('\n').map(columns)).size, table).toBe(1);
  });
});

describe('/llms.txt', () => {
  test('has a title, a summary and sections of links', () => {
    const lines = file('/llms.txt')
      .split('\n')
      .filter((line) => line !== '');
    expect(lines[0]).toBe('# Paywright');
    expect(lines[1]).toMatch(/^> ./);
    const sections = lines.slice(lines.findIndex((line) => line.startsWith('## ')));
    expect(sections.filter((line) => !/^## \w+$|^- \[[^\]]+\]\(https?:\/\/\S+\): ./.test(line))).toEqual([]);
  });

  test('links to what is there, under the public URL, and so do the others', async () => {
    const links = new Set(
      [...files.values()].flatMap((markdown) =>
        [...markdown.matchAll(/\]\((https?:[^)]+)\)/g)].map(([, url = '']) => url),
      ),
    );
    expect(links.size).toBeGreaterThan(20);
    for (const link of links) {
      expect(link.startsWith(`${service.url}/`), link).toBe(true);
      expect([link, (await fetch(link)).status]).toEqual([link, 200]);
    }
  });
});

describe('the skill', () => {
  test('has the front matter of an Agent Skills file, and at most 500 lines', () => {
    const skill = file('/skill.md');
    const [, name = '', description = ''] = /^---\nname: (.*)\ndescription: (.*)\n---\n/.exec(skill) ?? [];
    expect(name).toMatch(/^[a-z0-9]+(?:-[a-z0-9]+)*$/);
    expect(name.length).toBeLessThanOrEqual(64);
    // JSON is YAML as well.
    const said = JSON.parse(description) as string;
    expect(said.length).toBeGreaterThan(100);
    expect(said.length).toBeLessThanOrEqual(1024);
    expect(said).toContain(service.url);
    expect(skill.split('\n').length).toBeLessThanOrEqual(500);
  });

  test('is about this service: its mode, its URL, and states that exist', () => {
    const skill = file('/skill.md');
    expect(skill).toContain('the money is not real');
    expect(skill).not.toMatch(/undefined|\[object/);
  });

  test('says in live mode that the money is real', async () => {
    const skill = (await renderMachineDocs(document, { base: '', mode: 'live' })).get('/skill.md') ?? '';
    expect(skill).toMatch(/^---\nname: paywright\n/);
    expect(skill).toContain('it moves real money');
    expect(skill).not.toMatch(/sandbox/i);
  });

  test('makes a payment that is not made twice, as it is written', async () => {
    const { key } = await service.client.register();
    const { handle } = await service.client.register();
    await service.client.post('/sandbox/fund', { amount: 200 }, key);
    const [first, another] = paymentsIn(file('/skill.md'), handle);
    const pay = (body: unknown) =>
      service.client.request('POST', '/agent/transfer', {
        key,
        body,
        headers: { 'idempotency-key': crypto.randomUUID(), 'duplicate-guard': 'on' },
      });
    expect((await pay(first)).body.status).toBe('complete');
    const refused = await pay(first);
    expect([refused.status, refused.body.code]).toEqual([409, 'possible_duplicate']);
    expect((await pay({ ...another, notDuplicateOf: refused.body.duplicateOf.id })).body.status).toBe('complete');
  });
});

test('the SDK pays as the skill shows it, and not twice with the same key', async () => {
  const { key } = await service.client.register();
  const { handle } = await service.client.register();
  await service.client.post('/sandbox/fund', { amount: 200 }, key);
  const [, sample = ''] =
    /```js\nimport \{ Paywright \} from '@paywright\/sdk';\n(.*?)\n```/s.exec(file('/skill.md')) ?? [];
  const code = sample.replace(/"to":"[^"]*"/, `"to":"${handle}"`);
  // biome-ignore lint/complexity/useArrowFunction: only a function has this constructor
  const AsyncFunction = async function () {}.constructor as new (
    ...code: string[]
  ) => (...given: unknown[]) => Promise<unknown>;
  const run = new AsyncFunction('Paywright', 'process', 'intention', `${code}\nreturn paid;`);
  const pay = () => run(Paywright, { env: { PAYWRIGHT_API_KEY: key } }, 'one intention');
  const paid = await pay();
  expect(paid).toMatchObject({ status: 'complete' });
  expect(await pay()).toEqual(paid);
});

/** The bodies of the transfers in the skill, to somebody who exists. */
function paymentsIn(skill: string, to: string): object[] {
  const commands = [...skill.matchAll(/curl \S+\/agent\/transfer .*?-d '(.*?)'/gs)].map(([, body = '']) => body);
  expect(commands).toHaveLength(2);
  return commands.map((body) => ({ ...JSON.parse(body), to }));
}

describe.each([
  ['/docs.md', 'text/markdown; charset=utf-8'],
  ['/docs/transfers.md', 'text/markdown; charset=utf-8'],
  ['/skill.md', 'text/markdown; charset=utf-8'],
  ['/llms.txt', 'text/plain; charset=utf-8'],
  ['/llms-full.txt', 'text/plain; charset=utf-8'],
])('%s', (path, type) => {
  test('is served as the pages are', async () => {
    const reply = await get(path, { 'accept-encoding': 'identity' });
    expect([reply.status, reply.headers.get('content-type')]).toEqual([200, type]);
    expect(reply.headers.get('cache-control')).toBe('no-cache');
    expect(reply.headers.get('ratelimit-policy')).toBe((await get('/docs')).headers.get('ratelimit-policy'));
    const etag = reply.headers.get('etag') ?? '';
    const again = await get(path, { 'if-none-match': etag });
    expect([again.status, await again.text()]).toEqual([304, '']);
    const head = await fetch(`${service.url}${path}`, { method: 'HEAD', headers: { 'accept-encoding': 'identity' } });
    expect([head.status, head.headers.get('etag'), await head.text()]).toEqual([200, etag, '']);
    expect(Number(head.headers.get('content-length'))).toBe(Buffer.byteLength(await reply.text()));
  });
});

test('a chapter that does not exist is not found', async () => {
  for (const path of ['/docs/nothing.md', '/docs/transfers', '/docs/..%2fskill.md'])
    expect([path, (await get(path)).status]).toEqual([path, 404]);
});
