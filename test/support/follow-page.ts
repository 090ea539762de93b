import { cpSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestDatabase } from './database.ts';
import type { Service } from './service.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** A block of code that names its file: ```diff src/money/catalogue.ts */
const block = /^```(\w+) (\S+)\n(.*?)^```$/gms;

/** Copies the source and changes the copy as these pages of the documentation say. Answers where the copy is. */
export function followPage(...pages: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'follow-page-'));
  for (const name of ['src', 'sandbox', 'scripts', 'test/support']) {
    cpSync(join(root, name), join(folder, name), { recursive: true, filter: (path) => !path.endsWith('.test.ts') });
  }
  for (const name of ['node_modules', 'dist', 'packages', 'package.json'])
    symlinkSync(join(root, name), join(folder, name));
  for (const page of pages) applyPage(page, folder);
  return folder;
}

function applyPage(page: string, folder: string): void {
  const steps = [...readFileSync(join(root, page), 'utf8').matchAll(block)];
  if (steps.length === 0) throw new Error(`${page} has no block that names its file`);
  for (const [, language, path = '', text = ''] of steps) {
    const file = join(folder, path);
    if (language === 'diff') writeFileSync(file, applyDiff(readFileSync(file, 'utf8'), text, path));
    else {
      mkdirSync(dirname(file), { recursive: true });
      // A new file is new: a page must not write over what is there.
      writeFileSync(file, text, { flag: 'wx' });
    }
  }
}

/** Replaces the one place that reads like the lines without a plus. */
function applyDiff(source: string, diff: string, path: string): string {
  const lines = diff.replace(/\n$/, '').split('\n');
  const written = (signs: string) =>
    lines
      .filter((line) => signs.includes(line.charAt(0)))
      .map((line) => `${line.slice(1)}\n`)
      .join('');
  const [before, after] = [written(' -'), written(' +')];
  const parts = source.split(before);
  if (before === '' || parts.length !== 2)
    throw new Error(`${path} has ${parts.length - 1} places that read:\n${before}`);
  return parts.join(after);
}

/** Starts the copy in this process. Its own test support does it, which knows the copy's sources and not ours. */
export async function startCopy(folder: string, database: Pick<TestDatabase, 'url'>): Promise<Service> {
  const copied: typeof import('./service.ts') = await import(join(folder, 'test/support/service.ts'));
  return copied.startService(database);
}
