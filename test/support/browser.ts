import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium } from 'playwright-core';

/** A browser on this machine, and the environment that it needs beside the usual one. */
export interface FoundBrowser {
  readonly path: string;
  readonly env: Readonly<Record<string, string>>;
}

const systemPaths = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/snap/bin/chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** The one that CHROME_PATH names, else one that is installed, else the one that comes with the dependencies. */
export async function findBrowser(): Promise<FoundBrowser | undefined> {
  const named = process.env['CHROME_PATH'];
  if (named) {
    if (!existsSync(named)) throw new Error(`CHROME_PATH names ${named}, which does not exist`);
    return { path: named, env: {} };
  }
  const installed = systemPaths.find((path) => existsSync(path));
  if (installed !== undefined) return { path: installed, env: {} };
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined;
  const bundled = await unpackOnce();
  return (await launches(bundled)) ? bundled : undefined;
}

/** The bundled browser was built for another system than this one may be: only trying it shows. */
async function launches(browser: FoundBrowser): Promise<boolean> {
  try {
    await (await launchBrowser(browser)).close();
    return true;
  } catch {
    return false;
  }
}

let unpacked: Promise<FoundBrowser> | undefined;

function unpackOnce(): Promise<FoundBrowser> {
  unpacked ??= unpackBundled();
  return unpacked;
}

export function launchBrowser({ path, env }: FoundBrowser): Promise<Browser> {
  return chromium.launch({ executablePath: path, args: flags, env: { ...definedEnvironment(), ...env } });
}

/** Beside the dependencies that it comes with, because the temporary folder of a run is removed with the run. */
const home = fileURLToPath(new URL('../../node_modules/.cache/paywright-browser', import.meta.url));

/**
 * The bundled browser is compressed. It is unpacked into a folder of its own, which then takes its final name in one
 * step, so that of two test processes doing this at once neither can meet a half-written one.
 */
async function unpackBundled(): Promise<FoundBrowser> {
  if (!existsSync(home)) {
    mkdirSync(dirname(home), { recursive: true });
    const fresh = mkdtempSync(`${home}-`);
    await inflateInto(fresh);
    writeFileSync(join(fresh, 'fonts.conf'), fontConfig());
    try {
      renameSync(fresh, home);
    } catch (error) {
      rmSync(fresh, { recursive: true, force: true });
      if (!existsSync(home)) throw error;
    }
  }
  return {
    path: join(home, 'chromium'),
    env: { LD_LIBRARY_PATH: join(home, 'al2023', 'lib'), FONTCONFIG_FILE: join(home, 'fonts.conf') },
  };
}

/** The package unpacks into the temporary folder, and its libraries only where it believes itself to be on Lambda. */
async function inflateInto(folder: string): Promise<void> {
  const before = { ...process.env };
  Object.assign(process.env, { TMPDIR: folder, AWS_LAMBDA_JS_RUNTIME: 'nodejs22.x' });
  try {
    const { default: bundled } = await import('@sparticuz/chromium');
    await bundled.executablePath();
  } finally {
    for (const name of ['TMPDIR', 'AWS_LAMBDA_JS_RUNTIME', 'LD_LIBRARY_PATH', 'FONTCONFIG_PATH', 'HOME']) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
  }
}

function fontConfig(): string {
  const folders = [join(home, 'fonts'), '/usr/share/fonts'].map((folder) => `<dir>${folder}</dir>`).join('');
  return `<?xml version="1.0"?><fontconfig>${folders}<cachedir>${join(home, 'font-cache')}</cachedir></fontconfig>\n`;
}

function definedEnvironment(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
