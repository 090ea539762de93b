import { randomBase62 } from '../../kernel/ids/ids.ts';
import type { Website } from '../search/website.ts';

const path = '/.well-known/paywright-merchant.txt';

/** What a domain is to show, and where, so that whoever registered it is known to be its owner. */
export interface Proof {
  readonly url: string;
  /** One line of the file. It names the account, so that nobody is talked into putting up a stranger's. */
  readonly content: string;
}

export function newProofToken(): string {
  return randomBase62(32);
}

export function proofFor({ origin, name }: Website, { handle, token }: { handle: string; token: string }): Proof {
  const { protocol } = new URL(origin);
  return { url: `${protocol}//${name}${path}`, content: `paywright-merchant ${handle} ${token}` };
}
