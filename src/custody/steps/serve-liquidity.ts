import { type Network, type Token, tokenBalance, tokenOf } from '../../chains/network.ts';
import { onlyRow, type Queryable, type Transaction } from '../../kernel/db/database.ts';
import { tryLockUntilCommit } from '../../kernel/db/locks.ts';
import { wakeSagas } from '../../kernel/sagas/wake-saga.ts';
import { amountOf, toDecimalText } from '../../money/amount.ts';
import type { Asset, ChainId } from '../../money/catalogue.ts';
import { fromChain } from '../wallets/errors.ts';
import { type HouseWallet, houseWallet } from '../wallets/house-wallets.ts';

import { findStep, type SagaParts, type StepName } from './chain-step.ts';

/** How often the first in line checks the treasury. */
const patienceMs = 2_000;

/** The others are woken when they are served, and check by themselves only in case that fails. */
const behindMs = 30_000;

/** Waits in line for the treasury's tokens. The first in line serves all. Undefined when the step has its tokens. */
export async function awaitLiquidity(
  parts: LiquidityParts,
  which: StepName,
  line: Line,
): Promise<{ readonly lookAgainInMs: number; readonly waitsFor: string } | undefined> {
  const { db } = parts;
  let step = await findStep(db, which);
  const isFirst = step?.state === 'waiting' && (await isFirstInLine(db, line, step.id));
  if (isFirst) {
    await serveLiquidity(parts, { ...line, caller: which.sagaId });
    step = await findStep(db, which);
  }
  if (step !== undefined && step.state !== 'waiting') return undefined;
  const lookAgainInMs = (isFirst ? patienceMs : behindMs) * (0.5 + Math.random());
  return { lookAgainInMs, waitsFor: `${line.asset} to reach the treasury` };
}

type LiquidityParts = Pick<SagaParts, 'db' | 'networks' | 'logger' | 'passAfterMs'>;

/** The steps that wait for the treasury's tokens of one asset on one chain. */
export interface Line {
  readonly chain: ChainId;
  readonly asset: Asset;
}

/** The most steps served in one transaction. The next caller serves the rest. */
const servedAtOnce = 500;

/**
 * Sets the treasury's tokens aside for the waiting steps, first come, first served. The balance is read first, and everything promised or
 * paid since then counts as gone: that errs on the side of waiting. A step that is first and short holds up the others, so that small ones
 * do not starve a large one; after some minutes others may pass, and the operator is alerted. The caller's own saga is not woken, because a
 * second job would ask the provider at the same time.
 */
export async function serveLiquidity(
  parts: LiquidityParts,
  { chain, asset, caller }: Line & { readonly caller?: string },
): Promise<void> {
  const { passAfterMs = 3 * 60_000 } = parts;
  const passed = await withFreeTokens(parts, { chain, asset }, (tx, treasury, free) =>
    serveQueue(tx, { chain, asset, treasury, free, passAfterMs, caller }),
  );
  for (const { saga, sagaId: id, atomic } of passed ?? []) {
    parts.logger.error(
      { chain, saga, id },
      `there is not enough for ${toDecimalText(amountOf(asset, atomic))} ${asset}: later steps are served first`,
    );
  }
}

/** The work runs in one transaction, unless another process holds the line's lock: that one serves everybody. */
async function withFreeTokens<Result>(
  { db, networks }: Pick<LiquidityParts, 'db' | 'networks'>,
  { chain, asset }: Line,
  work: (tx: Transaction, treasury: HouseWallet, free: bigint) => Promise<Result>,
): Promise<Result | undefined> {
  const network = networks.get(chain);
  const token = network && tokenOf(network, asset);
  if (network === undefined || token === undefined) return undefined;
  const treasury = await houseWallet(db, 'treasury', chain);
  const { now } = onlyRow(await db.query<{ now: Date }>('SELECT clock_timestamp() AS now'));
  const held = await balanceOf(network, token, treasury);
  return db.transaction(async (tx) => {
    // One at a time per chain and asset, so that no token is set aside twice.
    if (!(await tryLockUntilCommit(tx, { kind: 'liquidity', of: `${chain} ${asset}` }))) return undefined;
    // A treasury that is being retired pays nothing more.
    const { rows } = await tx.query('SELECT FROM house_wallets WHERE id = $1 AND retired_at IS NULL FOR SHARE', [
      treasury.id,
    ]);
    if (rows.length === 0) return undefined;
    return work(tx, treasury, held - (await promisedSince(tx, treasury.id, asset, now)));
  });
}

export function balanceOf(network: Network, token: Token, { address }: HouseWallet): Promise<bigint> {
  return fromChain(tokenBalance(network, token, address));
}

/** Tokens that steps have promised, or have settled since the balance was read: those may still be part of it. */
export async function promisedSince(tx: Queryable, walletId: string, asset: Asset, readAt: Date): Promise<bigint> {
  const { promised } = onlyRow(
    await tx.query<{ promised: bigint }>(
      `SELECT coalesce(sum(atomic), 0) AS promised FROM chain_step_leaves
        WHERE wallet_id = $1 AND asset = $2 AND settled_at >= $3`,
      [walletId, asset, readAt],
    ),
  );
  return promised;
}

interface QueueRow {
  readonly stepId: string;
  readonly saga: string;
  readonly sagaId: string;
  readonly atomic: bigint;
  readonly passed: boolean;
  /** It has been first and short for `passAfterMs`. */
  readonly overdue: boolean;
}

interface Queue extends Line {
  readonly treasury: HouseWallet;
  readonly free: bigint;
  readonly passAfterMs: number;
  readonly caller: string | undefined;
}

/** Answers the steps that others may pass from now on. */
async function serveQueue(
  tx: Transaction,
  { chain, asset, treasury, free, passAfterMs, caller }: Queue,
): Promise<QueueRow[]> {
  const { rows } = await tx.query<QueueRow>(
    `SELECT l.step_id, s.saga, s.saga_id, l.atomic, l.passed_at IS NOT NULL AS passed,
            coalesce(l.short_since <= clock_timestamp() - make_interval(secs => $3), false) AS overdue
       FROM chain_step_leaves l JOIN chain_steps s ON s.id = l.step_id
      WHERE l.chain = $1 AND l.asset = $2 AND l.wallet_id IS NULL
        AND (l.passed_at IS NULL OR l.atomic <= $5)
      ORDER BY l.waiting_since, l.step_id LIMIT $4`,
    [chain, asset, passAfterMs / 1_000, servedAtOnce, free],
  );
  let left = free;
  const served: QueueRow[] = [];
  const passed: QueueRow[] = [];
  for (const row of rows) {
    if (row.atomic <= left) {
      left -= row.atomic;
      served.push(row);
    } else if (row.overdue) {
      if (!row.passed) passed.push(row);
    } else {
      // Steps behind it that need more than is left become short at the same time.
      await tx.query(
        `UPDATE chain_step_leaves SET short_since = clock_timestamp()
          WHERE chain = $1 AND asset = $2 AND wallet_id IS NULL AND short_since IS NULL AND atomic > $3`,
        [chain, asset, left],
      );
      break;
    }
  }
  await giveWallet(tx, served, treasury);
  if (passed.length > 0) {
    await tx.query(
      'UPDATE chain_step_leaves SET passed_at = clock_timestamp() WHERE step_id = ANY ($1) AND asset = $2',
      [passed.map(({ stepId }) => stepId), asset],
    );
  }
  await wakeSagas(
    tx,
    chain,
    served.filter(({ sagaId }) => sagaId !== caller).map(({ saga, sagaId: id }) => ({ saga, id })),
  );
  return passed;
}

async function giveWallet(tx: Transaction, served: readonly QueueRow[], { id: walletId }: HouseWallet): Promise<void> {
  if (served.length === 0) return;
  const ids = served.map(({ stepId }) => stepId);
  await tx.query("UPDATE chain_steps SET wallet_id = $2, state = 'ready' WHERE id = ANY ($1) AND state = 'waiting'", [
    ids,
    walletId,
  ]);
  await tx.query('UPDATE chain_step_leaves SET wallet_id = $2 WHERE step_id = ANY ($1) AND wallet_id IS NULL', [
    ids,
    walletId,
  ]);
}

async function isFirstInLine(db: Queryable, { chain, asset }: Line, stepId: string): Promise<boolean> {
  const { rows } = await db.query<{ stepId: string }>(
    `SELECT step_id FROM chain_step_leaves WHERE chain = $1 AND asset = $2 AND wallet_id IS NULL
      ORDER BY waiting_since, step_id LIMIT 1`,
    [chain, asset],
  );
  return rows[0]?.stepId === stepId;
}

export async function queuedLiquidity(db: Queryable, chain: ChainId, asset: Asset): Promise<bigint> {
  const { waited } = onlyRow(
    await db.query<{ waited: bigint }>(
      `SELECT coalesce(sum(atomic), 0) AS waited FROM chain_step_leaves
        WHERE chain = $1 AND asset = $2 AND wallet_id IS NULL`,
      [chain, asset],
    ),
  );
  return waited;
}

/** Whether a step waits for the treasury's tokens: then every deposit is worth sweeping at once. */
export async function isLiquidityNeeded(db: Queryable, chain: ChainId, asset: Asset): Promise<boolean> {
  const { rows } = await db.query(
    'SELECT FROM chain_step_leaves WHERE chain = $1 AND asset = $2 AND wallet_id IS NULL LIMIT 1',
    [chain, asset],
  );
  return rows.length > 0;
}

/**
 * Offers the treasury's unpromised tokens to a caller that can use any amount. Steps in line come first. `plan` sets the tokens aside by
 * planning a step in the same commit.
 */
export async function takeSpare(
  parts: Pick<LiquidityParts, 'db' | 'networks'>,
  line: Line,
  plan: (tx: Transaction, treasury: HouseWallet, spare: bigint) => Promise<void>,
): Promise<void> {
  await withFreeTokens(parts, line, async (tx, treasury, spare) => {
    if (spare > 0n && !(await isLiquidityNeeded(tx, line.chain, line.asset))) await plan(tx, treasury, spare);
  });
}
