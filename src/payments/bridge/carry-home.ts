import type { SagaParts } from '../../custody/steps/chain-step.ts';
import type { GasCosts } from '../../custody/treasury/gas-costs.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { describeError } from '../../kernel/jobs/error-reporter.ts';
import { type Loop, startLoop } from '../../kernel/jobs/loop.ts';
import type { Wakes } from '../../kernel/jobs/wakes.ts';
import { type Amount, amountOf } from '../../money/amount.ts';
import { type ChainId, homeChain } from '../../money/catalogue.ts';
import { askTerms, feeTooHigh, type ProtocolTerms } from './ask-protocol.ts';
import { gasBetween } from './gas-fee.ts';
import { openBridge } from './open-bridge.ts';

export interface CarryHomeParts extends Pick<SagaParts, 'db' | 'ledger' | 'networks' | 'logger'> {
  readonly gasCosts: GasCosts;
  /** The smallest amount worth moving, in atomic units of USDC. */
  readonly minimum: (chain: ChainId) => bigint;
  /** Accounts per query. */
  readonly pageSize?: number;
}

/** One loop per chain moves deposits to the home chain, for accounts that have no cross-chain wallet there. */
export function startCarryingHome(
  parts: CarryHomeParts,
  { wakes, pollMs }: { readonly wakes: Wakes; readonly pollMs: number },
): Loop[] {
  const { networks, logger } = parts;
  if (!networks.has(homeChain)) return [];
  return [...networks.keys()]
    .filter((chain) => chain !== homeChain)
    .map((chain) =>
      startLoop({
        logger,
        fields: { chain },
        trouble: 'deposits cannot be carried home',
        rest: { wakes, topic: `carry_home/${chain}` },
        paceMs: pollMs,
        async run() {
          if (!(await isAnyWaiting(parts.db, chain))) return 'rest';
          await carryHome(parts, chain);
          return pollMs;
        },
      }),
    );
}

/** The owner has not asked for the transfer, so its gas must be a small part of the amount. */
const timesGas = 10n;

const larger = (one: bigint, other: bigint) => (one > other ? one : other);

const waits = 'chain = $1 AND home_bound AND bridge_id IS NULL AND kept_at IS NULL';

/** Deposits that are due. After a failed burn a deposit waits until `carry_after`. */
const isDue = `${waits}
  AND (carry_after IS NULL OR carry_after < now())`;

async function isAnyWaiting(db: Queryable, chain: ChainId): Promise<boolean> {
  const { rows } = await db.query(`SELECT FROM deposits WHERE ${waits} LIMIT 1`, [chain]);
  return rows.length > 0;
}

/**
 * Opens one bridge for each account whose deposits are worth it. Two processes at once open only one. All pages are read, because accounts
 * that cannot be served now would otherwise fill the first page forever.
 */
export async function carryHome(parts: CarryHomeParts, chain: ChainId): Promise<void> {
  const { db, networks, gasCosts, minimum, pageSize = 100 } = parts;
  const network = networks.get(chain);
  if (network === undefined) return;
  const { fee: gasFee } = await gasBetween(gasCosts, chain, homeChain);
  const least = larger(minimum(chain), timesGas * gasFee.atomic);
  for (let after = 0n; ; ) {
    const { rows } = await db.query<{ accountId: bigint; atomic: bigint }>(
      `SELECT account_id, sum(atomic) AS atomic FROM deposits
        WHERE ${isDue} AND account_id > $4 AND account_id IN (SELECT id FROM accounts WHERE frozen_at IS NULL)
        GROUP BY account_id HAVING sum(atomic) >= $2 ORDER BY account_id LIMIT $3`,
      [chain, least, pageSize, after],
    );
    for (const { accountId, atomic } of rows) {
      // The protocol's fee depends on the amount.
      const amount = amountOf('USDC', atomic - gasFee.atomic);
      const terms = await askTerms(network, amount);
      if (terms.paused) return;
      if (feeTooHigh(terms, amount) !== undefined) continue;
      // A failure of one account must not stop the others.
      await carry(parts, { ...terms, accountId: accountId, chain, gasFee, least }).catch((error: unknown) => {
        parts.logger.error({ chain, trouble: describeError(error) }, 'a deposit cannot be carried home');
      });
    }
    const last = rows.at(-1);
    if (last === undefined) return;
    after = last.accountId;
  }
}

interface Waiting extends Pick<ProtocolTerms, 'burnLimit' | 'minFee'> {
  readonly accountId: bigint;
  readonly chain: ChainId;
  readonly gasFee: Amount;
  readonly least: bigint;
}

async function carry(
  { db, ledger }: CarryHomeParts,
  { accountId, chain, burnLimit, minFee, gasFee, least }: Waiting,
): Promise<void> {
  await db.transaction(async (tx) => {
    const { rows } = await tx.query<{ id: string; atomic: bigint }>(
      `SELECT id, atomic FROM deposits WHERE ${isDue} AND account_id = $2 ORDER BY id FOR UPDATE`,
      [chain, accountId],
    );
    // As many deposits as one message may carry. The next bridge takes the others.
    const carried: string[] = [];
    let sum = 0n;
    for (const { id, atomic } of rows) {
      if (sum + atomic - gasFee.atomic > burnLimit) continue;
      sum += atomic;
      carried.push(id);
    }
    // Another process may have been faster.
    if (sum < least || sum - gasFee.atomic <= minFee) return;
    const { outcome } = await openBridge(tx, ledger, {
      accountId,
      from: chain,
      to: homeChain,
      amount: amountOf('USDC', sum - gasFee.atomic),
      gasFee,
      origin: 'deposit',
      beside: async (bridgeId) => {
        await tx.query('UPDATE deposits SET bridge_id = $1, carry_after = NULL WHERE id = ANY ($2)', [
          bridgeId,
          carried,
        ]);
      },
    });
    if (outcome.outcome !== 'posted')
      throw new Error(`what waits to be carried home was not taken: ${outcome.outcome}`);
  });
}
