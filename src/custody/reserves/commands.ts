import type { Command } from 'commander';
import { createLogger } from '../../kernel/log/logger.ts';
import { findSnapshot, readRoots } from './read-proof.ts';
import { type ReconcileParts, reconcile } from './reconcile.ts';
import { type ReserveRow, reportReserves } from './report.ts';

export type ReserveCommandParts = Pick<ReconcileParts, 'db' | 'networks' | 'sagas'>;

type WithChains = (work: (parts: ReserveCommandParts) => Promise<void>) => Promise<void>;
type Say = (line: string) => void;

/** An operator at a terminal can wait longer than a request. */
const chainTimeoutMs = 30_000;

/** `paywright reserves` and `paywright reconcile`. Exit code 1 means a discrepancy. */
export function addReserveCommands(program: Command, withChains: WithChains, say: Say): void {
  program
    .command('reserves')
    .description('show what the service holds and owes on each chain, and the difference')
    .action(() => withChains((parts) => showReserves(parts, say)));
  program
    .command('reconcile')
    .description('compare everything held and owed, and list every discrepancy')
    .action(() => withChains((parts) => showDrift(parts, say)));
}

async function showReserves({ db, networks }: ReserveCommandParts, say: Say): Promise<void> {
  const { reserves, at } = await reportReserves({ db, networks, chainTimeoutMs, logger: createLogger('error') });
  for (const line of toTable(reserves)) say(line);
  say('');
  say(`At ${at}.`);
  const snapshot = await findSnapshot(db);
  for (const { chain, asset, root, total } of snapshot ? (await readRoots(db, snapshot)).roots : []) {
    say(`Root of ${snapshot?.id}: ${chain} ${asset}, ${total} in all, ${root}`);
  }
  if (reserves.some(({ difference }) => difference !== '0')) process.exitCode = 1;
}

const columns = ['chain', 'asset', 'onChain', 'owed', 'inFlight', 'difference', 'blockNumber'] as const;
const headings = ['chain', 'asset', 'on chain', 'owed', 'in flight', 'difference', 'block'];

function toTable(reserves: readonly ReserveRow[]): string[] {
  const cells = [headings, ...reserves.map((row) => columns.map((column) => String(row[column] ?? '-')))];
  const widths = headings.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells.map((row, index) => {
    // Names are left-aligned, numbers right-aligned.
    const line = row.map((cell, column) =>
      column < 2 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
    );
    const remark = reserves[index - 1]?.unavailable;
    return [...line, ...(remark === undefined ? [] : [remark])].join('  ').trimEnd();
  });
}

async function showDrift(parts: ReserveCommandParts, say: Say): Promise<void> {
  const findings = await reconcile(parts);
  for (const finding of findings) say(finding);
  if (findings.length === 0) say('Nothing has drifted.');
  else process.exitCode = 1;
}
