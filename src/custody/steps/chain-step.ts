import type { Hex } from 'viem';
import type { Network, Networks } from '../../chains/network.ts';
import type { Database, Queryable, Transaction } from '../../kernel/db/database.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import type { Checkpoint } from '../../kernel/sagas/checkpoint.ts';
import { wakeSaga } from '../../kernel/sagas/wake-saga.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { ChainId } from '../../money/catalogue.ts';
import type { WalletProvider } from '../wallets/provider.ts';

export interface ChainStepParts {
  readonly db: Database;
  readonly networks: Networks;
  readonly provider: WalletProvider;
  readonly checkpoint?: Checkpoint | undefined;
}

/** For a saga that posts, and that may wait for the treasury's tokens. */
export interface SagaParts extends ChainStepParts {
  readonly ledger: Ledger;
  readonly logger: Logger;
  /** How long a step that is first and short holds up the line before others may pass. */
  readonly passAfterMs?: number;
}

/** Throws while the operator has disabled the chain: the saga waits until it is back. */
export function requireNetwork(networks: Networks, chain: ChainId): Network {
  const network = networks.get(chain);
  if (network === undefined) throw new Error(`${chain} is switched off`);
  return network;
}

/** The step of a saga, by its name. */
export type StepName = Pick<ChainStep, 'sagaId' | 'step'>;

/** One transaction that a saga requests from the wallet provider. */
export interface ChainStep {
  /** The idempotency key at the provider. */
  readonly id: string;
  readonly saga: string;
  readonly sagaId: string;
  readonly step: string;
  readonly chain: ChainId;
  /** The house wallet that sends it. Null while the step waits for liquidity, and when a user's wallet sends it. */
  readonly walletId: string | null;
  readonly userWalletId: string | null;
  readonly state: ChainStepState;
  /** From this time on the provider may have accepted it, even if we crashed. */
  readonly askedAt: Date | null;
  /** The last request whose answer is not known. */
  readonly unansweredAt: Date | null;
  readonly providerRef: string | null;
  readonly hash: Hex | null;
  readonly blockNumber: bigint | null;
  readonly gasCost: bigint | null;
  readonly reason: string | null;
}

/**
 * `waiting` for liquidity, `ready` to be asked for, `asked` (perhaps taken, perhaps not), `taken` by the provider; settled as
 * `confirmed` or `failed`.
 */
type ChainStepState = 'waiting' | 'ready' | 'asked' | 'taken' | 'confirmed' | 'failed';

export async function findStep(db: Queryable, { sagaId, step }: StepName): Promise<ChainStep | undefined> {
  const { rows } = await db.query<ChainStep>(`${select} WHERE saga_id = $1 AND step = $2`, [sagaId, step]);
  return rows[0];
}

/** In the order of planning. */
export async function listSteps(db: Queryable, sagaId: string): Promise<ChainStep[]> {
  const { rows } = await db.query<ChainStep>(`${select} WHERE saga_id = $1 ORDER BY created_at`, [sagaId]);
  return rows;
}

const select = `SELECT id, saga, saga_id, step, chain, wallet_id, user_wallet_id, state, asked_at, unanswered_at, provider_ref, hash,
    block_number, gas_cost, reason FROM chain_steps`;

/** Whether a house wallet has an open step, or an open step pays into it. */
export async function isWalletBusy(db: Queryable, walletId: string): Promise<boolean> {
  const { rows } = await db.query(
    `SELECT FROM chain_steps WHERE wallet_id = $1 AND settled_at IS NULL
     UNION ALL
     SELECT FROM chain_steps s JOIN chain_step_leaves l ON l.step_id = s.id
       JOIN house_wallets w ON w.id = $1 AND w.chain = s.chain AND lower(w.address) = l.recipient
      WHERE s.settled_at IS NULL
     LIMIT 1`,
    [walletId],
  );
  return rows.length > 0;
}

/** The provider reports news about its transaction: the saga runs now instead of at its next poll. */
export async function wakeSagaOf(tx: Transaction, providerRef: string): Promise<void> {
  const { rows } = await tx.query<{ saga: string; sagaId: string; chain: string }>(
    'SELECT saga, saga_id, chain FROM chain_steps WHERE provider_ref = $1 AND settled_at IS NULL',
    [providerRef],
  );
  for (const { saga, sagaId: id, chain } of rows) await wakeSaga(tx, { saga, id, lane: chain });
}
