import { planStep } from '../../custody/steps/plan-step.ts';
import { houseWallet } from '../../custody/wallets/house-wallets.ts';
import type { Database, Queryable, Transaction } from '../../kernel/db/database.ts';
import { newId } from '../../kernel/ids/ids.ts';
import { type Checkpoint, noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import { wakeSaga } from '../../kernel/sagas/wake-saga.ts';
import type { Asset, ChainId } from '../../money/catalogue.ts';
import { type Choice, choosePayments, type WaitingPayment } from './choose-payments.ts';
import { tokenAddress } from './claim.ts';
import { noteUnpaid } from './end-claims.ts';
import { type EndingParts, endUsed } from './end-unpayable.ts';
import { readPayerWallets } from './read-payer-wallets.ts';
import { settlementSaga } from './saga.ts';
import { paymentChain } from './terms.ts';

/** Payments that are submitted in one transaction. They are read apart: while it waits, nothing needs them. */
export interface Settlement {
  readonly id: string;
  readonly chain: ChainId;
  readonly asset: Asset;
  readonly status: 'submitting' | 'complete' | 'failed';
  /** The provider has not taken its transaction for a while. */
  readonly isStuck: boolean;
}

/** After this long without being taken, the wallet probably cannot send. */
const stuckSeconds = 30;

export function submitStep(settlementId: string) {
  return { sagaId: settlementId, step: 'submit' } as const;
}

export async function findSettlement(db: Queryable, id: string): Promise<Settlement | undefined> {
  const { rows } = await db.query<Settlement & Record<string, unknown>>(
    `SELECT id, chain, asset, status, EXISTS (${stuck} AND s.id = settlements.id) AS is_stuck
       FROM settlements WHERE id = $1`,
    [id],
  );
  return rows[0];
}

/** While a settlement is stuck, no new one is planned. */
async function isAnyStuck(db: Queryable, chain: ChainId): Promise<boolean> {
  const { rows } = await db.query(`${stuck} AND s.chain = $1 LIMIT 1`, [chain]);
  return rows.length > 0;
}

const stuck = `SELECT FROM settlements s JOIN chain_steps c ON c.saga_id = s.id AND c.step = 'submit'
  WHERE s.finished_at IS NULL AND c.provider_ref IS NULL
    AND s.created_at < clock_timestamp() - interval '${stuckSeconds} seconds'`;

export interface GatheringRules {
  /** How long payments gather, so that many share one transaction. */
  readonly gatherMs: number;
  /** The most payments in one transaction. */
  readonly most: number;
  /** A payment that expires within this time is settled at once. */
  readonly urgentSeconds: number;
}

export const usualGathering = { most: 100, urgentSeconds: 120 } as const;

const asset = 'USDC';

/** How many failed transactions a payment may cost us. */
const mostFailedTries = 3;

/** Delays before the next check of a payment that was not submitted. Checking costs no gas. */
const shortSeconds = 15;
const laterSeconds = 2;

export interface OpeningParts extends EndingParts {
  readonly checkpoint?: Checkpoint;
}

/**
 * Checks waiting payments, served and most urgent first, and asks the chain which of them can move. One commit plans
 * the transaction for those; the others get a time for their next check. Returns how many were checked, 0 when none is
 * due.
 */
export async function openSettlement(parts: OpeningParts, rules: GatheringRules): Promise<number> {
  const { db, network, checkpoint = noCheckpoint } = parts;
  const waiting = await findWaiting(db, rules);
  if (waiting.length === 0 || (await isAnyStuck(db, network.id))) return 0;
  const { payments, wallets } = await readPayerWallets({ db, network, token: tokenAddress(network, asset) }, waiting);
  const choices = choosePayments(payments, wallets);
  const chosen = (choice: Choice) => waiting.filter(({ id }) => choices.get(id) === choice).map(({ id }) => id);
  const settlementId = null;
  await noteUnpaid(db, chosen('short'), { settlementId, againInSeconds: shortSeconds, because: 'wallet_is_short' });
  await noteUnpaid(db, [...chosen('later'), ...chosen('used')], { settlementId, againInSeconds: laterSeconds });
  await endUsed(parts, chosen('used'));
  const submitted = await db.transaction((tx) => planSettlement(tx, chosen('submit')));
  if (submitted > 0) checkpoint('settlement.opened');
  return waiting.length;
}

async function planSettlement(tx: Transaction, chosen: readonly string[]): Promise<number> {
  const ids = await takeWaiting(tx, chosen);
  if (ids.length === 0) return 0;
  const id = newId('stl');
  const chain = paymentChain;
  const wallet = await houseWallet(tx, 'settlement', chain);
  await tx.query(
    "INSERT INTO settlements (id, chain, asset, wallet_id, status) VALUES ($1, $2, $3, $4, 'submitting')",
    [id, chain, asset, wallet.id],
  );
  await tx.query(
    'UPDATE payment_claims SET settlement_id = $1, attempts = attempts + 1, payer_failed_at = NULL WHERE id = ANY ($2)',
    [id, ids],
  );
  await planStep(tx, { saga: settlementSaga.name, ...submitStep(id), chain, wallet });
  await wakeSaga(tx, { saga: settlementSaga.name, id, lane: chain });
  return ids.length;
}

/** Payments that can still move and are in no settlement. */
const waits = `chain = $1 AND asset = $2 AND arrived_at IS NULL AND written_off_at IS NULL AND lapsed_at IS NULL
  AND settlement_id IS NULL AND NOT submitted_elsewhere AND (served_at IS NOT NULL OR prepaid)
  AND (retry_at IS NULL OR retry_at <= clock_timestamp()) AND failed_tries < ${mostFailedTries}
  AND valid_before > extract(epoch FROM clock_timestamp())`;

/** When one payment is due, later ones go with it. A prepaid payment is due at once. */
async function findWaiting(db: Database, { gatherMs, most, urgentSeconds }: GatheringRules) {
  const { rows } = await db.query<Omit<WaitingPayment, 'isUsed'> & { readonly due: boolean }>(
    `SELECT id, payer, nonce, atomic, prepaid,
            prepaid OR valid_before < extract(epoch FROM clock_timestamp()) + $4 OR attempts > 0
              OR served_at <= clock_timestamp() - make_interval(secs => $3) AS due
       FROM payment_claims WHERE ${waits} ORDER BY prepaid, valid_before, id LIMIT $5`,
    [paymentChain, asset, gatherMs / 1_000, urgentSeconds, most],
  );
  if (rows.length < most && !rows.some(({ due }) => due)) return [];
  return rows.map(({ due: _, ...payment }) => payment);
}

/** Another process may have taken some of them. */
async function takeWaiting(tx: Transaction, chosen: readonly string[]): Promise<string[]> {
  if (chosen.length === 0) return [];
  const { rows } = await tx.query<{ id: string }>(
    `SELECT id FROM payment_claims WHERE ${waits} AND id = ANY ($3) ORDER BY id FOR UPDATE SKIP LOCKED`,
    [paymentChain, asset, chosen],
  );
  return rows.map(({ id }) => id);
}
