import { onlyRow, type Queryable } from '../../kernel/db/database.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';

/** 256 bits in base64url. */
const form = /^[\w-]{43}$/;

const textOf = (linkId: string) => `token of ${linkId}`;

/**
 * The token is derived from the link's id and the operator's secret, and is not stored. So an idempotent replay returns
 * the same link although no secret was saved, and a copy of the database alone opens no link.
 */
export function newToken(secrets: Secrets, linkId: string): { readonly token: string; readonly hash: Buffer } {
  const token = secrets.hash('funding-links', textOf(linkId)).toString('base64url');
  return { token, hash: secrets.hash('funding-links', `hash of ${token}`) };
}

/** The link's original token, also after the operator has rotated the secret. */
export async function tokenOf(db: Queryable, secrets: Secrets, linkId: string): Promise<string> {
  const tokens = secrets.hashes('funding-links', textOf(linkId)).map((hash) => hash.toString('base64url'));
  const { tokenHash: kept } = onlyRow(
    await db.query<{ tokenHash: Buffer }>('SELECT token_hash FROM funding_links WHERE id = $1', [linkId]),
  );
  const token = tokens.find((each) => hashesOfToken(secrets, each).some((hash) => hash.equals(kept)));
  if (token === undefined) throw new Error(`the secret that made the token of ${linkId} is not configured any more`);
  return token;
}

/** The hashes to look a link up by; empty when the text cannot be a token. */
export function hashesOfToken(secrets: Secrets, token: string): readonly Buffer[] {
  return form.test(token) ? secrets.hashes('funding-links', `hash of ${token}`) : [];
}
