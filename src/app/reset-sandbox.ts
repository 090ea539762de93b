import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { Refusal } from '../kernel/refusal.ts';
import { commandFor } from './explain-foreign-schema.ts';
import type { ListedFeature } from './listed-feature.ts';
import { readSettings } from './read-settings.ts';
import { loadSandbox } from './sandbox.ts';

export interface ResetOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly features: readonly ListedFeature[];
  readonly say: (line: string) => void;
  readonly confirm: () => Promise<boolean>;
}

/** `paywright reset`: deletes the sandbox in DATA_DIR, so that the next start creates a new one. */
export async function resetSandbox({ env, features, say, confirm }: ResetOptions): Promise<void> {
  // Checked first, so that the error is not about an unrelated setting that live mode lacks.
  if (env['PAYWRIGHT_MODE'] === 'live') {
    throw new Refusal('PAYWRIGHT_MODE is live, and only a sandbox can be reset. Nothing was deleted.');
  }
  const { mode, dataDir, databaseUrl } = readSettings(env, features);
  if (databaseUrl !== undefined) {
    throw new Refusal(
      `The sandbox is in your database (DATABASE_URL), which this command does not delete. Drop that database and create it again (the orders of its demo shop are below ${join(dataDir, 'databases')}), or unset DATABASE_URL to reset the sandbox in ${dataDir}.`,
    );
  }
  const { refuseWhileRunning, findSandboxState, deleteSandboxState } = await loadSandbox({ mode });
  refuseWhileRunning(dataDir);
  const start = commandFor(dataDir, 'npm start');
  const found = findSandboxState(dataDir);
  if (found.length === 0) return say(`There is no sandbox in ${dataDir}. "${start}" makes one.`);
  say(`This deletes all accounts, play money, chains and orders of the sandbox in ${dataDir}:`);
  for (const path of found) say(`  ${path}`);
  if (!(await confirm())) throw new Refusal('Nothing was deleted.');
  await deleteSandboxState(dataDir);
  say(`The sandbox is deleted. "${start}" makes a new one.`);
}

/** Without a terminal the answer is no. */
export async function askOnTerminal(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const unanswered = new Promise<string>((resolve) => {
    terminal.once('close', () => resolve(''));
  });
  try {
    const answer = await Promise.race([terminal.question(question), unanswered]);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    terminal.close();
  }
}
