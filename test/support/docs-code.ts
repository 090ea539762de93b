import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';

const run = promisify(execFile);

const fromRoot = (path: string) => new URL(`../../${path}`, import.meta.url);

export const readPage = (path: string): string => readFileSync(fromRoot(path), 'utf8');

/** What stands below a heading. */
export const section = (page: string, title: string): string =>
  page.split(`\n## ${title}\n`)[1]?.split('\n## ')[0] ?? '';

export const codeOf = (text: string, language: string): string[] =>
  [...text.matchAll(/```(\w+)\n([\s\S]*?)```/g)].flatMap(([, found, code = '']) => (found === language ? [code] : []));

interface Surroundings {
  /** The packages that the code may import from. */
  readonly packages?: Readonly<Record<string, object>>;
  /** Other names that the code uses. */
  readonly names?: Readonly<Record<string, unknown>>;
}

/** Runs code as it stands in a document. Returns what it prints. */
export async function runCode(code: string, { packages = {}, names = {} }: Surroundings = {}): Promise<unknown[][]> {
  const lines: unknown[][] = [];
  const given: Record<string, unknown> = {
    console: { log: (...values: unknown[]) => void lines.push(values) },
    ...names,
  };
  const body = code.replace(/^import \{ (.+) \} from '(.+)';$/gm, (_line, imported: string, name: string) => {
    const found = packages[name] as Readonly<Record<string, unknown>> | undefined;
    for (const one of imported.split(', ')) {
      expect(found?.[one], `${one} of ${name}`).toBeDefined();
      given[one] = found?.[one];
    }
    return '';
  });
  await new Function(...Object.keys(given), `return (async () => {\n${body}\n})()`)(...Object.values(given));
  return lines;
}

/** Runs a program of the README with plain Node, from this clone, against a service and in a folder of its own. */
export async function runProgram(code: string, url: string) {
  const folder = mkdtempSync(join(tmpdir(), 'readme-'));
  const file = join(folder, 'program.mjs');
  const here = code.replace("'./packages/", `'${fromRoot('packages/').href}`);
  writeFileSync(file, here.replaceAll('http://127.0.0.1:8402', url));
  return { folder, ...(await run(process.execPath, [file], { cwd: folder })) };
}
