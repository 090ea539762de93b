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
  readonly account_id: bigint;
  readonly handle: string;
  readonly name: string;
  readonly chain: ChainId;
  readonly asset: Asset;
  readonly atomic: string;
  readonly created_at: Date;
  readonly expires_at: Date;
  readonly deposit_id: string | null;
  readonly transfer_id: string | null;
  readonly tx_hash: Hex | null;
  readonly received: string | null;
  readonly completed_at: Date | null;
  readonly card_provider: string | null;
  readonly card_state: CardState | null;
  readonly card_reason: string | null;
}

export function toLink(row: LinkRow): Link {
  return {
    id: row.id,
    status: row.status,
    accountId: row.account_id,
    handle: row.handle,
    name: row.name,
    chain: row.chain,
    amount: amountOf(row.asset, BigInt(row.atomic)),
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    completion: toCompletion(row),
    card: toCard(row),
  };
}

function toCompletion({
  asset,
  deposit_id: depositId,
  transfer_id: transferId,
  tx_hash: txHash,
  received,
  completed_at: at,
}: LinkRow): Completion | undefined {
  if (depositId === null || transferId === null || txHash === null || received === null || at === null)
    return undefined;
  return { depositId, transferId, txHash, amount: amountOf(asset, BigInt(received)), at };
}

function toCard({ card_provider, card_state, card_reason }: LinkRow): CardPayment | undefined {
  if (card_provider === null || card_state === null) return undefined;
  return { provider: card_provider, state: card_state, reason: card_reason ?? undefined };
}
