import { readdirSync, readFileSync } from 'node:fs';
import { build } from 'esbuild';
import { expect, it } from 'vitest';

const folder = new URL('.', import.meta.url);
const read = (name: string) => readFileSync(new URL(name, folder), 'utf8');
const shipped = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.js'));

it('ships at most 40 KB', () => {
  expect(shipped.length).toBeGreaterThan(5);
  expect(shipped.reduce((sum, name) => sum + Buffer.byteLength(read(name)), 0)).toBeLessThanOrEqual(40 * 1024);
});

it('depends on nothing, of Node or of others', async () => {
  const manifest = JSON.parse(read('../package.json'));
  expect(Object.keys(manifest).filter((name) => /dependencies$/i.test(name))).toEqual([]);
  // For no platform, which has no modules: every import is one of these files.
  const { metafile } = await build({
    entryPoints: [new URL('index.js', folder).pathname],
    bundle: true,
    platform: 'neutral',
    format: 'esm',
    write: false,
    metafile: true,
  });
  expect(
    Object.keys(metafile.inputs)
      .map((path) => path.replace(/^.*packages\/sdk\/src\//, ''))
      .sort(),
  ).toEqual(shipped.sort());
});
