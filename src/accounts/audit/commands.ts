import type { Command } from 'commander';
import type { Queryable } from '../../kernel/db/database.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { printable } from '../../kernel/text/visible-text.ts';
import { findAccountId } from '../find-account.ts';
import { type OperatorEntry, walkLog } from './read-log.ts';
import { auditActions } from './record.ts';

interface Tools {
  withDatabase(work: (db: Queryable) => Promise<void>): Promise<void>;
  say(line: string): void;
}

interface AuditOptions {
  readonly account?: string;
  readonly action?: string;
  readonly since?: string;
  readonly limit: string;
  readonly json?: true;
}

export function addAuditCommand(program: Command, { withDatabase, say }: Tools): void {
  program
    .command('audit')
    .description('show the audit log, newest first')
    .option('--account <who>', 'only entries of this handle or email')
    .option('--action <name>', 'only this action, such as sign_in.failed')
    .option('--since <time>', 'only entries since then, such as 2026-01-15 or 2026-01-15T10:00:00Z')
    .option('--limit <number>', 'the most entries to show; 0 is all', '100')
    .option('--json', 'one JSON object per line, for log collectors')
    .action((options: AuditOptions) =>
      withDatabase(async (db) => {
        const query = {
          accountId: options.account === undefined ? undefined : await findAccountId(db, options.account),
          action: actionOrRefuse(options.action),
          since: timeOrRefuse(options.since),
        };
        const most = limitOrRefuse(options.limit);
        let said = 0;
        for await (const entry of walkLog(db, query)) {
          if (said === most) {
            if (options.json !== true) say('There are more: see --limit.');
            return;
          }
          said++;
          say(options.json ? toJson(entry) : toLine(entry));
        }
        if (said === 0 && options.json !== true) say('There are no entries.');
      }),
    );
}

function actionOrRefuse(action: string | undefined): string | undefined {
  if (action === undefined || action in auditActions) return action;
  throw new Refusal(`--action must be one of ${Object.keys(auditActions).join(', ')}.`);
}

function timeOrRefuse(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) throw new Refusal(`--since must be a time such as 2026-01-15T10:00:00Z.`);
  return time;
}

function limitOrRefuse(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new Refusal('--limit must be a whole number.');
  return text === '0' ? Number.POSITIVE_INFINITY : Number(text);
}

function toJson({ createdAt, ...entry }: OperatorEntry): string {
  return JSON.stringify({ at: createdAt.toISOString(), ...entry });
}

/** Details may contain third-party text. */
function toLine({ createdAt, handle, action, keyId, operator, address, details, note }: OperatorEntry): string {
  const by = operator === null ? (keyId ?? '-') : `operator ${operator}`;
  const rest = Object.entries(details).map(([name, value]) => `${name}=${String(value)}`);
  const columns = [createdAt.toISOString(), handle ?? '-', action.padEnd(24), by, address ?? '-', ...rest];
  return printable([...columns, ...(note === null ? [] : [`(${note})`])].join('  '));
}
