import type { Queryable } from '../../kernel/db/database.ts';
import { redactText } from '../../kernel/log/redact.ts';
import { recordAudit } from './record.ts';

/** Commands that only look, by their last word. Whatever is not among them is written down. */
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
  /** Its last word. */
  readonly name: string;
  /** All that was typed after `paywright`. */
  readonly words: readonly string[];
}

/** Writes a command of the operator down before it does anything: what it does may be several commits, or be cut short. */
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
