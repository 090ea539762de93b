import { readFileSync, statSync } from 'node:fs';
import { Refusal } from '../../../kernel/refusal.ts';
import type { Screening } from '../../limits/screening.ts';

/**
 * Screens against a file with one address a line; blank lines and what follows a # are ignored. The file is read again
 * when it has changed, so that an operator adds to it without a restart. A file that cannot be read any more stops
 * withdrawals rather than letting one through.
 */
export function createDenyList(file: string | undefined): Screening {
  if (file === undefined) return { check: async () => ({ clear: true }) };
  let readAt = 0;
  let denied = new Map<string, number>();

  function refresh(path: string): void {
    const { mtimeMs } = statSync(path);
    if (mtimeMs === readAt) return;
    const read = parse(readFileSync(path, 'utf8'));
    // Somebody is in the middle of writing it, or has lost it: nobody is cleared by accident.
    if (read.size === 0 && denied.size > 0) throw new Error('the deny list has become empty');
    denied = read;
    readAt = mtimeMs;
  }

  try {
    refresh(file);
    // Somebody is in the middle of writing it here as well, or has lost it. Who wants nobody screened can say so.
    if (denied.size === 0)
      throw new Refusal('DENY_LIST_FILE holds no address: set DENY_LIST_FILE=none if there are none.');
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
      throw new Refusal(`DENY_LIST_FILE has no address in line ${index + 1}: "0x" and 40 hexadecimal characters.`);
    }
    denied.set(entry.toLowerCase(), index + 1);
  }
  return denied;
}
