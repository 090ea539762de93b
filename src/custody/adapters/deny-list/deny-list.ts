import { readFileSync, statSync } from 'node:fs';
import { Refusal } from '../../../kernel/refusal.ts';
import type { Screening } from '../../limits/allow-list.ts';

/**
 * Screens against a file with one address per line; blank lines and text after a # are ignored. The file is re-read
 * when it changes, without a restart. A file that becomes unreadable stops withdrawals instead of letting one through.
 */
export function createDenyList(file: string | undefined): Screening {
  if (file === undefined) return { check: async () => ({ clear: true }) };
  let readAt = 0;
  let denied = new Map<string, number>();

  function refresh(path: string): void {
    const { mtimeMs } = statSync(path);
    if (mtimeMs === readAt) return;
    const read = parse(readFileSync(path, 'utf8'));
    // The file is being written or was lost. No address is cleared by accident.
    if (read.size === 0 && denied.size > 0) throw new Error('the deny list has become empty');
    denied = read;
    readAt = mtimeMs;
  }

  try {
    refresh(file);
    // As above; an operator who screens no address says so explicitly.
    if (denied.size === 0)
      throw new Refusal('DENY_LIST_FILE contains no address. Set DENY_LIST_FILE=none to screen nothing.');
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal(`DENY_LIST_FILE cannot be read: ${(error as Error).message}.`);
  }
  return {
    async check({ address }) {
      refresh(file);
      const line = denied.get(address.toLowerCase());
      if (line === undefined) return { clear: true };
      return { clear: false, reason: `the address is on the deny list, line ${line}` };
    },
  };
}

function parse(text: string): Map<string, number> {
  const denied = new Map<string, number>();
  for (const [index, whole] of text.split('\n').entries()) {
    const entry = whole.replace(/#.*/, '').trim();
    if (entry === '') continue;
    if (!/^0x[0-9a-fA-F]{40}$/.test(entry)) {
      throw new Refusal(`DENY_LIST_FILE, line ${index + 1}: expected an address, "0x" and 40 hexadecimal characters.`);
    }
    denied.set(entry.toLowerCase(), index + 1);
  }
  return denied;
}
