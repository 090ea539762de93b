import type { Secrets } from '../secrets.ts';

/** 256 bits in base64url. */
const form = /^[\w-]{43}$/;

/**
 * The token of a link is made from its id and the operator's secret, and kept nowhere: a request that is sent again gets the same
 * link although no answer with a secret was stored. Whoever has the database alone can make none.
 */
export function tokenOf(secrets: Secrets, linkId: string): string {
  return secrets.hash('funding-links', `token of ${linkId}`).toString('base64url');
}

/** What a link is found by. Undefined for what cannot be a token, however long it is. */
export function hashOfToken(secrets: Secrets, token: string): Buffer | undefined {
  return form.test(token) ? secrets.hash('funding-links', `hash of ${token}`) : undefined;
}
