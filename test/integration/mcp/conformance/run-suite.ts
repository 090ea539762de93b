import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Check {
  readonly id: string;
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  readonly errorMessage?: string;
}

export interface SuiteRun {
  /** Everything that the suite wrote. */
  readonly output: string;
  readonly scenarios: ReadonlyMap<string, readonly Check[]>;
}

const support = (name: string) => fileURLToPath(new URL(`../../../support/${name}`, import.meta.url));
const imports = ['unneeded-imports.mjs', 'patient-timers.mjs'].flatMap((name) => ['--import', support(name)]);

interface RunOptions {
  readonly program: string;
  readonly args: readonly string[];
  /** Stands in for the person whom the suite asks to open a URL in a browser. */
  readonly open?: (url: string) => Promise<unknown>;
}

/** Runs a conformance suite in a process of its own, and reads what each scenario found. */
export async function runSuite({ program, args, open }: RunOptions): Promise<SuiteRun> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-conformance-'));
  try {
    const output = await runNode([...imports, program, ...args, '--output-dir', folder], open);
    return { output, scenarios: await readScenarios(folder) };
  } finally {
    await rm(folder, { recursive: true });
  }
}

function runNode(args: readonly string[], open: RunOptions['open']): Promise<string> {
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], TMPDIR: process.env['TMPDIR'] };
  // It takes some seconds. The limit only ends what hangs.
  const bounds = { env, timeout: 240_000, killSignal: 'SIGKILL', maxBuffer: 2 ** 26 } as const;
  return new Promise((resolve, reject) => {
    // The exit code is about failures of which none is expected.
    const child = execFile(process.execPath, args, bounds, (_error, stdout, stderr) => resolve(stdout + stderr));
    if (open === undefined) return;
    let said = '';
    let isOpened = false;
    child.stdout?.on('data', (text: string) => {
      said += text;
      const [, url] = /^(http\S+)\n/m.exec(said) ?? [];
      if (url === undefined || isOpened) return;
      isOpened = true;
      open(url).catch((error: unknown) => {
        child.kill('SIGKILL');
        reject(error as Error);
      });
    });
  });
}

/** Each scenario leaves a folder such as `server-tools-list-2026-11-19T13-27-44-592Z`. */
async function readScenarios(folder: string): Promise<Map<string, readonly Check[]>> {
  const scenarios = new Map<string, readonly Check[]>();
  for (const one of await readdir(folder)) {
    const name = one.replace(/^(authorization-)?server-/, '').replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, '');
    scenarios.set(name, JSON.parse(await readFile(join(folder, one, 'checks.json'), 'utf8')) as Check[]);
  }
  return scenarios;
}
