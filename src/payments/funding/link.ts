import type { Hex } from 'viem';
import type { Queryable } from '../../kernel/db/database.ts';
import { type Amount, amountOf } from '../../money/amount.ts';
import type { Asset, ChainId } from '../../money/catalogue.ts';
import { fundingErrors } from './errors.ts';
import type { CardState } from './on-ramp.ts';
import { type LinkStatus, statusOf } from './states.ts';

export interface Link {
  readonly id: string;
  readonly status: LinkStatus;
  readonly accountId: bigint;
  readonly handle: string;
  readonly name: string;
  readonly chain: ChainId;
  readonly amount: Amount;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly completion: Completion | undefined;
  readonly card: CardPayment | undefined;
}

interface Completion {
  readonly depositId: string;
  readonly transferId: string;
  readonly txHash: Hex;
  readonly amount: Amount;
  readonly at: Date;
}

interface CardPayment {
  readonly provider: string;
  readonly state: CardState;
  readonly reason: string | undefined;
}

/** Of several card payments the furthest counts, then the latest. */
const furthestCard = `LEFT JOIN LATERAL (
    SELECT provider, state, reason FROM funding_card_payments c WHERE c.link_id = l.id
     ORDER BY array_position(ARRAY['sent', 'pending', 'failed'], c.state), c.updated_at DESC LIMIT 1) card ON true`;

export const linkColumns = `l.id, ${statusOf} AS status, l.account_id, a.handle, a.name, l.chain, l.asset, l.atomic, l.created_at,
  l.expires_at, l.deposit_id, d.transfer_id, d.tx_hash, d.atomic AS received, l.completed_at, card.provider AS card_provider,
  card.state AS card_state, card.reason AS card_reason`;

export const linkTables = `funding_links l JOIN accounts a ON a.id = l.account_id LEFT JOIN deposits d ON d.id = l.deposit_id
  ${furthestCard}`;

export async function findLink(db: Queryable, id: string, accountId: bigint): Promise<Link> {
  const { rows } = await db.query<LinkRow>(
    `SELECT ${linkColumns} FROM ${linkTables} WHERE l.id = $1 AND l.account_id = $2`,
    [id, accountId],
  );
  if (rows[0] === undefined) throw fundingErrors.funding_link_not_found();
  return toLink(rows[0]);
}

export interface LinkRow {
  readonly id: string;
  readonly status: LinkStatus;
  readonly accountId: bigint;
  readonly handle: string;
  readonly name: string;
  readonly chain: ChainId;
  readonly asset: Asset;
  readonly atomic: bigint;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly depositId: string | null;
  readonly transferId: string | null;
  readonly txHash: Hex | null;
  readonly received: bigint | null;
  readonly completedAt: Date | null;
  readonly cardProvider: string | null;
  readonly cardState: CardState | null;
  readonly cardReason: string | null;
}

export function toLink(row: LinkRow): Link {
  return {
    id: row.id,
    status: row.status,
    accountId: row.accountId,
    handle: row.handle,
    name: row.name,
    chain: row.chain,
    amount: amountOf(row.asset, row.atomic),
    createdAt: row.createdAt,
    expiresAt: row.expiresAt,
    completion: toCompletion(row),
    card: toCard(row),
  };
}

function toCompletion({
  asset,
  depositId,
  transferId,
  txHash,
  received,
  completedAt: at,
}: LinkRow): Completion | undefined {
  if (depositId === null || transferId === null || txHash === null || received === null || at === null)
    return undefined;
  return { depositId, transferId, txHash, amount: amountOf(asset, received), at };
}

function toCard({ cardProvider, cardState, cardReason }: LinkRow): CardPayment | undefined {
  if (cardProvider === null || cardState === null) return undefined;
  return { provider: cardProvider, state: cardState, reason: cardReason ?? undefined };
}
