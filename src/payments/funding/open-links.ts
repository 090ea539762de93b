import type { Hex } from 'viem';
import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import type { Asset, ChainId } from '../../money/catalogue.ts';
import type { OpenLink } from './match-arrivals.ts';

const select = `SELECT id, account_id, asset, atomic, CASE WHEN expires_at <= now() THEN seen_tx END AS only_for, created_at,
    EXISTS (SELECT FROM funding_card_payments c WHERE c.link_id = funding_links.id AND c.state = 'sent') AS sent_by_card
  FROM funding_links`;

/** A link whose payment was seen in time stays open for that payment until it is final or undone. */
const isOpen = 'completed_at IS NULL AND (expires_at > now() OR seen_tx IS NOT NULL)';

export async function listOpenLinks(db: Queryable, chain: ChainId): Promise<OpenLink[]> {
  const { rows } = await db.query<OpenLinkRow>(`${select} WHERE chain = $1 AND ${isOpen} ORDER BY created_at, id`, [
    chain,
  ]);
  return rows.map(toOpenLink);
}

/**
 * Locks the open links of these accounts until the commit, in the order of their ids, so that two transactions that
 * credit deposits at once cannot deadlock. Returns them oldest first.
 */
export async function lockOpenLinks(
  tx: Transaction,
  chain: ChainId,
  accountIds: readonly bigint[],
): Promise<OpenLink[]> {
  const { rows } = await tx.query<OpenLinkRow>(
    `WITH locked AS (${select} WHERE chain = $1 AND account_id = ANY ($2) AND ${isOpen} ORDER BY id FOR UPDATE)
     SELECT * FROM locked ORDER BY created_at, id`,
    [chain, accountIds],
  );
  return rows.map(toOpenLink);
}

interface OpenLinkRow {
  readonly id: string;
  readonly accountId: bigint;
  readonly asset: Asset;
  readonly atomic: bigint;
  readonly onlyFor: Hex | null;
  readonly sentByCard: boolean;
}

function toOpenLink({ id, accountId, asset, atomic, onlyFor, sentByCard }: OpenLinkRow): OpenLink {
  return {
    id,
    accountId: accountId,
    asset,
    atomic: atomic,
    onlyFor: onlyFor ?? undefined,
    isSentByCard: sentByCard,
  };
}
