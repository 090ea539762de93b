import type { Hex } from 'viem';
import { z } from 'zod';
import { countToday } from '../../kernel/daily-caps/count-today.ts';
import { onlyRow, type Queryable, type Transaction } from '../../kernel/db/database.ts';
import { deleteInChunks } from '../../kernel/db/delete-in-chunks.ts';
import type { Caller } from '../../kernel/http/define-route.ts';
import { newId } from '../../kernel/ids/ids.ts';
import { defineJob, handleJob } from '../../kernel/jobs/define-job.ts';
import type { Schedule } from '../../kernel/jobs/worker.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import { type Amount, amountOf, type Stored } from '../../money/amount.ts';
import type { ChainId } from '../../money/catalogue.ts';
import { fundingErrors } from './errors.ts';
import type { OpenLink } from './match-arrivals.ts';
import type { CardState } from './on-ramp.ts';
import { type LinkStatus, statusOf } from './states.ts';

const lifetimeMinutes = 20;

interface NewLink {
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

/** 256 bits in base64url. */
const form = /^[\w-]{43}$/;

const textOf = (linkId: string) => `token of ${linkId}`;

/**
 * The token is derived from the link's id and the operator's secret, and is not stored. So an idempotent replay returns
 * the same link although no secret was saved, and a copy of the database alone opens no link.
 */
function newToken(secrets: Secrets, linkId: string): { readonly token: string; readonly hash: Buffer } {
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

const job = defineJob({ name: 'forget-funding-links', payload: z.unknown(), maxAttempts: 1 });

export function forgetLinksSchedule(db: Queryable): Schedule {
  return { at: '29 * * * *', handler: handleJob(job, () => forgetLinks(db)) };
}

/** Deletes links that were never paid. A link stays if a deposit completed it or a card company reported a payment. */
export async function forgetLinks(db: Queryable): Promise<void> {
  await deleteInChunks(db, {
    table: 'funding_links',
    where: `completed_at IS NULL AND seen_tx IS NULL AND expires_at < now() - interval '90 days'
      AND NOT EXISTS (SELECT FROM funding_card_payments c WHERE c.link_id = funding_links.id)`,
  });
}

const select = `SELECT id, account_id, asset, atomic, CASE WHEN expires_at <= now() THEN seen_tx END AS only_for, created_at,
    EXISTS (SELECT FROM funding_card_payments c WHERE c.link_id = funding_links.id AND c.state = 'sent') AS is_sent_by_card
  FROM funding_links`;

/** A link whose payment was seen in time stays open for that payment until it is final or undone. */
const isOpen = 'completed_at IS NULL AND (expires_at > now() OR seen_tx IS NOT NULL)';

export async function listOpenLinks(db: Queryable, chain: ChainId): Promise<OpenLink[]> {
  const { rows } = await db.query<OpenLink>(`${select} WHERE chain = $1 AND ${isOpen} ORDER BY created_at, id`, [
    chain,
  ]);
  return rows;
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
  const { rows } = await tx.query<OpenLink>(
    `WITH locked AS (${select} WHERE chain = $1 AND account_id = ANY ($2) AND ${isOpen} ORDER BY id FOR UPDATE)
     SELECT * FROM locked ORDER BY created_at, id`,
    [chain, accountIds],
  );
  return rows;
}

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
  readonly card: CardPayment | null;
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
  readonly reason: string | null;
}

/** Of several card payments the furthest counts, then the latest. */
const furthestCard = `LEFT JOIN LATERAL (
    SELECT json_build_object('provider', provider, 'state', state, 'reason', reason) AS card
      FROM funding_card_payments c WHERE c.link_id = l.id
     ORDER BY array_position(ARRAY['sent', 'pending', 'failed'], c.state), c.updated_at DESC LIMIT 1) furthest ON true`;

export const linkColumns = `l.id, ${statusOf} AS status, l.account_id, a.handle, a.name, l.chain, l.asset, l.atomic AS amount,
  l.created_at, l.expires_at, l.deposit_id, d.transfer_id, d.tx_hash, d.atomic AS received, l.completed_at, furthest.card`;

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

interface CompletionRow {
  readonly depositId: string | null;
  readonly transferId: string | null;
  readonly txHash: Hex | null;
  readonly received: bigint | null;
  readonly completedAt: Date | null;
}

export type LinkRow = Stored<Omit<Link, 'completion'>, 'amount'> & CompletionRow;

export function toLink({ depositId, transferId, txHash, received, completedAt: at, asset, ...row }: LinkRow): Link {
  const isComplete = depositId !== null && transferId !== null && txHash !== null && received !== null && at !== null;
  return {
    ...row,
    amount: amountOf(asset, row.amount),
    completion: isComplete ? { depositId, transferId, txHash, amount: amountOf(asset, received), at } : undefined,
  };
}
