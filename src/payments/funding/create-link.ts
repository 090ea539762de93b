import { countToday } from '../../kernel/daily-caps/count-today.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import type { Caller } from '../../kernel/http/define-route.ts';
import { newId } from '../../kernel/ids/ids.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import type { Amount } from '../../money/amount.ts';
import type { ChainId } from '../../money/catalogue.ts';
import { newToken } from './tokens.ts';

const lifetimeMinutes = 20;

export interface NewLink {
  readonly caller: Pick<Caller, 'accountId' | 'tier'>;
  readonly chain: ChainId;
  readonly amount: Amount;
}

/** Returns the id, from which the token is derived. */
export async function createLink(
  tx: Transaction,
  secrets: Secrets,
  { caller, chain, amount }: NewLink,
): Promise<string> {
  await countToday(tx, caller, 'fundingLinks');
  const id = newId('fnd');
  await tx.query(
    `INSERT INTO funding_links (id, account_id, chain, asset, atomic, token_hash, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, clock_timestamp() + make_interval(mins => $7))`,
    [id, caller.accountId, chain, amount.asset, amount.atomic, newToken(secrets, id).hash, lifetimeMinutes],
  );
  return id;
}
