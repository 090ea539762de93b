import { getAddress, type Hex } from 'viem';
import type { Screening } from '../../custody/limits/allow-list.ts';
import { findStep, type SagaParts, type StepName } from '../../custody/steps/chain-step.ts';
import { findHouseWalletById, type HouseWallet } from '../../custody/wallets/house-wallets.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { type AccountId, houseAccount, userAccount } from '../../ledger/account-id.ts';
import { describeMoney, detailsOf, type EventType, jsonAmount } from '../../ledger/event-types.ts';
import type { Posted } from '../../ledger/posting.ts';
import { type Amount, amountOf, type Stored, subtract } from '../../money/amount.ts';
import { type ChainId, chains } from '../../money/catalogue.ts';
import type { WithdrawalStatus } from './saga.ts';

export interface WithdrawalSagaParts extends SagaParts {
  readonly screening: Screening;
  /** The hourly limit in millionths of a USDC; undefined means no limit. */
  readonly perHour?: bigint | undefined;
}

export const withdrawalEvents: readonly EventType[] = [
  { name: 'withdrawal.created', describe: describeWithdrawal },
  { name: 'withdrawal.completed', describe: describeWithdrawal },
  // Failed and cancelled withdrawals are refunded in full, so they have no fee and no net amount.
  { name: 'withdrawal.failed' },
  { name: 'withdrawal.cancelled' },
];

function describeWithdrawal(posting: Posted): Readonly<Record<string, unknown>> {
  const { amount, fee } = posting;
  return {
    ...describeMoney(posting),
    fee: jsonAmount(fee),
    net: jsonAmount(subtract(amount, fee)),
    ...detailsOf(posting),
  };
}

export type Holder = 'screening' | 'freeze' | 'hourly_limit';

export interface Withdrawal {
  readonly id: string;
  /** Null when the operator pays out earned fees. */
  readonly accountId: bigint | null;
  /** The key that asked for it; null when the operator did. */
  readonly keyId: string | null;
  readonly chain: ChainId;
  readonly address: Hex;
  /** Debited from the balance. */
  readonly gross: Amount;
  readonly fee: Amount;
  /** Received at the address. */
  readonly net: Amount;
  /** The gas as it was quoted. */
  readonly gas: Amount;
  /** What of it was kept although nothing was paid. */
  readonly gasKept: Amount;
  readonly status: WithdrawalStatus;
  readonly txHash: Hex | null;
  readonly error: string | null;
  /** Shown to the operator only. */
  readonly heldBecause: string | null;
  /** Null also in rows from before this column existed. */
  readonly heldBy: Holder | null;
  /** The operator released it, so screening is not asked again. */
  readonly released: boolean;
  /** In millionths of a USDC when it was requested; null when unknown. */
  readonly value: bigint | null;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
}

/** The account that is debited, and refunded if the withdrawal fails. */
export function sourceOf({ accountId, gross, chain }: Pick<Withdrawal, 'accountId' | 'gross' | 'chain'>): AccountId {
  return accountId === null ? houseAccount('fees', gross.asset, chain) : userAccount(accountId, gross.asset, chain);
}

export function payStep(withdrawalId: string) {
  return { sagaId: withdrawalId, step: 'pay' } as const;
}

/** Native coin is held wrapped and must be unwrapped before it is paid. */
export function unwrapStep(withdrawalId: string) {
  return { sagaId: withdrawalId, step: 'unwrap' } as const;
}

/** The step that uses the treasury's tokens. */
export function firstStep(withdrawal: Pick<Withdrawal, 'id' | 'chain' | 'net'>) {
  return isNative(withdrawal) ? unwrapStep(withdrawal.id) : payStep(withdrawal.id);
}

export function isNative({ chain, net }: Pick<Withdrawal, 'chain' | 'net'>): boolean {
  return chains[chain].native === net.asset;
}

/** Native coin that one step leaves in this wallet is spent by the next step from the same wallet. */
export async function stepWallet(db: Queryable, step: StepName): Promise<HouseWallet> {
  const { walletId } = (await findStep(db, step)) ?? { walletId: null };
  const wallet = walletId === null ? undefined : await findHouseWalletById(db, walletId);
  if (wallet === undefined) throw new Error(`${step.sagaId} has no wallet to ${step.step} from`);
  return wallet;
}

export async function findWithdrawal(db: Queryable, id: string): Promise<Withdrawal | undefined> {
  return (await selectWithdrawals(db, 'WHERE id = $1', [id]))[0];
}

export async function selectWithdrawals(
  db: Queryable,
  where: string,
  values: readonly unknown[],
): Promise<Withdrawal[]> {
  const { rows } = await db.query<Stored<Withdrawal, 'gross' | 'fee' | 'net' | 'gas' | 'gasKept'>>(
    `SELECT id, account_id, key_id, chain, asset, address, gross, fee, net, gas, gas_kept, status,
        (SELECT s.hash FROM chain_steps s WHERE s.saga_id = withdrawals.id AND s.step = 'pay') AS tx_hash,
        error, held_because, held_by, released_at IS NOT NULL AS released, value, created_at, finished_at
      FROM withdrawals ${where}`,
    values,
  );
  return rows.map(({ asset, ...row }) => ({
    ...row,
    address: getAddress(row.address),
    gross: amountOf(asset, row.gross),
    fee: amountOf(asset, row.fee),
    net: amountOf(asset, row.net),
    gas: amountOf(asset, row.gas),
    gasKept: amountOf(asset, row.gasKept),
  }));
}
