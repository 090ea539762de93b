import type { Queryable } from '../../kernel/db/database.ts';
import { redactText } from '../../kernel/log/redact.ts';
import { recordAudit } from './record.ts';

/** Read-only commands, by their last word. All others are recorded. */
const looking: ReadonlySet<string> = new Set([
  'audit',
  'debtors',
  'dues',
  'keys',
  'list',
  'reconcile',
  'reserves',
  'show',
  'unknown',
]);

export interface GivenCommand {
  readonly name: string;
  /** Everything typed after `paywright`. */
  readonly words: readonly string[];
}

/** Records an operator command before it runs, because it may take several commits or be interrupted. */
export async function noteCommand(db: Queryable, operator: string, { name, words }: GivenCommand): Promise<void> {
  if (looking.has(name)) return;
  await recordAudit(db, {
    accountId: null,
    action: 'operator.command',
    by: { operator },
    details: { command: withoutSecrets(words.join(' ')) },
  });
}

/** A URL may carry a secret in its query. */
function withoutSecrets(typed: string): string {
  return redactText(typed.replaceAll(/(https?:\/\/[^\s?#]*)[?#]\S*/gi, '$1')).slice(0, 1_000);
}
