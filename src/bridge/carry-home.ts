import { type ChainId, homeChain } from '../chains/chains.ts';
import type { Networks } from '../chains/network.ts';
import type { Database } from '../db/database.ts';
import { type Loop, startLoop } from '../jobs/loop.ts';
import { describeTrouble } from '../jobs/trouble.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Logger } from '../logger.ts';
import { amountOf } from '../money/amount.ts';
import { askTerms } from './ask-protocol.ts';
import { openBridge } from './open-bridge.ts';

export interface CarryHomeParts {
  readonly db: Database;
  readonly ledger: Ledger;
  readonly networks: Networks;
  readonly logger: Logger;
  /** From which amount it is worth the gas, in atomic units of USDC. */
  readonly minimum: (chain: ChainId) => bigint;
}

/** Carries home what was deposited on chains where its owner keeps nothing, as long as the process runs. */
export function startCarryingHome(parts: CarryHomeParts, { pollMs }: { readonly pollMs: number }): Loop[] {
  const { networks, logger } = parts;
  if (!networks.has(homeChain)) return [];
  return [...networks.keys()]
    .filter((chain) => chain !== homeChain)
    .map((chain) =>
      startLoop({
        logger,
        fields: { chain },
        trouble: 'deposits cannot be carried home',
        async run() {
          await carryHome(parts, chain);
          return pollMs;
        },
      }),
    );
}

/** The most accounts that are looked at in one go. */
const accountsAtOnce = 100;

/** One bridge for each account with enough, for all that waits. Two processes at once begin one, not two. */
export async function carryHome(parts: CarryHomeParts, chain: ChainId): Promise<void> {
  const { db, networks, minimum } = parts;
  const { rows } = await db.query<{ account_id: bigint; atomic: string }>(
    `SELECT d.account_id, sum(d.atomic) AS atomic FROM deposits d JOIN accounts a ON a.id = d.account_id
      WHERE d.chain = $1 AND d.home_bound AND d.bridge_id IS NULL AND d.kept_at IS NULL AND (d.carry_after IS NULL OR d.carry_after < now())
        AND a.frozen_at IS NULL
      GROUP BY d.account_id HAVING sum(d.atomic) >= $2 ORDER BY min(d.id) LIMIT $3`,
    [chain, minimum(chain), accountsAtOnce],
  );
  const network = networks.get(chain);
  if (rows.length === 0 || network === undefined) return;
  const total = rows.reduce((sum, { atomic }) => sum + BigInt(atomic), 0n);
  const { paused, burnLimit, minFee } = await askTerms(network, amountOf('USDC', total));
  if (paused) return;
  for (const { account_id } of rows) {
    // Whatever keeps one from going home keeps nobody else.
    await carry(parts, { accountId: account_id, chain, burnLimit, minFee }).catch((error: unknown) => {
      parts.logger.error({ chain, trouble: describeTrouble(error) }, 'a deposit cannot be carried home');
    });
  }
}

interface Waiting {
  readonly accountId: bigint;
  readonly chain: ChainId;
  readonly burnLimit: bigint;
  readonly minFee: bigint;
}

async function carry({ db, ledger }: CarryHomeParts, { accountId, chain, burnLimit, minFee }: Waiting): Promise<void> {
  await db.transaction(async (tx) => {
    const { rows } = await tx.query<{ id: string; atomic: string }>(
      `SELECT id, atomic FROM deposits WHERE account_id = $1 AND chain = $2 AND home_bound AND bridge_id IS NULL AND kept_at IS NULL
        ORDER BY id FOR UPDATE`,
      [accountId, chain],
    );
    // As many as one message takes; the others are the next bridge's.
    const carried: string[] = [];
    let sum = 0n;
    for (const { id, atomic } of rows) {
      if (sum + BigInt(atomic) > burnLimit) continue;
      sum += BigInt(atomic);
      carried.push(id);
    }
    if (sum <= minFee) return;
    const { outcome } = await openBridge(tx, ledger, {
      accountId,
      from: chain,
      to: homeChain,
      amount: amountOf('USDC', sum),
      origin: 'deposit',
      beside: async (bridgeId) => {
        await tx.query('UPDATE deposits SET bridge_id = $1, carry_after = NULL WHERE id = ANY ($2)', [
          bridgeId,
          carried,
        ]);
      },
    });
    if (outcome !== 'posted') throw new Error(`what waits to be carried home was not taken: ${outcome}`);
  });
}
