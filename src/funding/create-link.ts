import type { ChainId } from '../chains/chains.ts';
import type { Transaction } from '../db/database.ts';
import { newId } from '../ids.ts';
import type { Amount } from '../money/amount.ts';
import type { Secrets } from '../secrets.ts';
import { newToken } from './tokens.ts';

const lifetimeMinutes = 20;

export interface NewLink {
  readonly accountId: bigint;
  readonly chain: ChainId;
  readonly amount: Amount;
}

/** Writes a link down and answers its id, from which its token follows. */
export async function createLink(
  tx: Transaction,
  secrets: Secrets,
  { accountId, chain, amount }: NewLink,
): Promise<string> {
  const id = newId('fnd');
  await tx.query(
    `INSERT INTO funding_links (id, account_id, chain, asset, atomic, token_hash, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, clock_timestamp() + make_interval(mins => $7))`,
    [id, accountId, chain, amount.asset, amount.atomic, newToken(secrets, id).hash, lifetimeMinutes],
  );
  return id;
}
