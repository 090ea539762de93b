import { randomBase62 } from '../../kernel/ids/ids.ts';
import type { Website } from '../search/website.ts';

const path = '/.well-known/paywright-merchant.txt';

/** The line that a domain must show, and where, to prove that the account owns it. */
export interface Proof {
  readonly url: string;
  /** It names the account, so that a site owner is not tricked into publishing another account's line. */
  readonly content: string;
}

export function newProofToken(): string {
  return randomBase62(32);
}

export function proofFor({ origin, name }: Website, { handle, token }: { handle: string; token: string }): Proof {
  const { protocol } = new URL(origin);
  return { url: `${protocol}//${name}${path}`, content: `paywright-merchant ${handle} ${token}` };
}
