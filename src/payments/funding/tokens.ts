import { onlyRow, type Queryable } from '../../kernel/db/database.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';

/** 256 bits in base64url. */
const form = /^[\w-]{43}$/;

const textOf = (linkId: string) => `token of ${linkId}`;

/**
 * The token of a link is made from its id and the operator's secret, and kept nowhere: a request that is sent again gets the same
 * link although no answer with a secret was stored. Whoever has the database alone can make none.
 */
export function newToken(secrets: Secrets, linkId: string): { readonly token: string; readonly hash: Buffer } {
  const token = secrets.hash('funding-links', textOf(linkId)).toString('base64url');
  return { token, hash: secrets.hash('funding-links', `hash of ${token}`) };
}

/** The token that a link has had from the beginning, also when the secret is another one by now. */
export async function tokenOf(db: Queryable, secrets: Secrets, linkId: string): Promise<string> {
  const tokens = secrets.hashes('funding-links', textOf(linkId)).map((hash) => hash.toString('base64url'));
  const { token_hash: kept } = onlyRow(
    await db.query<{ token_hash: Buffer }>('SELECT token_hash FROM funding_links WHERE id = $1', [linkId]),
  );
  const token = tokens.find((each) => hashesOfToken(secrets, each).some((hash) => hash.equals(kept)));
  if (token === undefined) throw new Error(`the token of ${linkId} was made with a secret that is not known`);
  return token;
}

/** What a link is found by. None for what cannot be a token, however long it is. */
export function hashesOfToken(secrets: Secrets, token: string): readonly Buffer[] {
  return form.test(token) ? secrets.hashes('funding-links', `hash of ${token}`) : [];
}
