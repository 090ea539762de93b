import type { Hex } from 'viem';
import { numberedStep } from '../../custody/steps/advance-saga.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { type AccountId, heldAccount, userAccount } from '../../ledger/account-id.ts';
import { type Amount, add, amountOf } from '../../money/amount.ts';
import type { ChainId } from '../../money/catalogue.ts';
import type { BridgeStatus } from './saga.ts';

export interface Bridge {
  readonly id: string;
  readonly accountId: bigint;
  readonly from: ChainId;
  readonly to: ChainId;
  /** The amount that is burned. */
  readonly amount: Amount;
  /** The gas of both chains, debited in addition to the amount. */
  readonly gasFee: Amount;
  /** A request, or a deposit that is moved to the home chain. */
  readonly origin: 'request' | 'deposit';
  /** The house wallet that burns. */
  readonly burnerId: string;
  readonly status: BridgeStatus;
  readonly reached: Readonly<Partial<Record<BridgeStatus, string>>>;
  readonly burns: number;
  readonly maxFee: bigint | null;
  readonly mintRecipient: Hex | null;
  readonly burnNonce: bigint | null;
  readonly message: Hex | null;
  readonly attestation: Hex | null;
  readonly messageNonce: Hex | null;
  readonly mints: number;
  readonly minted: Amount | null;
  readonly burnHash: Hex | null;
  readonly mintHash: Hex | null;
  readonly error: string | null;
  readonly createdAt: Date;
}

/** The debited amount. */
export const debitedAmount = ({ amount, gasFee }: Pick<Bridge, 'amount' | 'gasFee'>): Amount => add(amount, gasFee);

/** The account that was debited, and that is refunded if nothing can be burned. */
export function sourceOf(bridge: Pick<Bridge, 'accountId' | 'from' | 'amount' | 'origin'>): AccountId {
  const { accountId, from, amount, origin } = bridge;
  return origin === 'deposit' ? heldAccount(accountId, amount.asset, from) : userAccount(accountId, amount.asset, from);
}

export const burnStep = ({ id, burns }: Pick<Bridge, 'id' | 'burns'>) => ({
  sagaId: id,
  step: numberedStep('burn', burns),
});
export const mintStep = ({ id, mints }: Pick<Bridge, 'id' | 'mints'>) => ({
  sagaId: id,
  step: numberedStep('mint', mints),
});

export async function findBridge(db: Queryable, id: string): Promise<Bridge | undefined> {
  const { rows } = await db.query<BridgeRow>(`${selectBridge} WHERE id = $1`, [id]);
  return rows[0] && toBridge(rows[0]);
}

/** Until the mint has arrived, our own delivery is shown. Then the transaction that delivered it counts, no matter who sent that. */
export const selectBridge = `SELECT id, account_id, from_chain, to_chain, asset, amount, gas_fee, origin, burner_id, status, reached,
    burns, max_fee, mint_recipient, burn_nonce, message, attestation, message_nonce, mints, minted, error, created_at,
    coalesce(burn_hash, (SELECT s.hash FROM chain_steps s WHERE s.saga_id = bridges.id
        AND s.step = CASE burns WHEN 1 THEN 'burn' ELSE 'burn_' || burns END AND s.state <> 'failed')) AS burn_hash,
    coalesce(mint_hash, (SELECT s.hash FROM chain_steps s WHERE s.saga_id = bridges.id
        AND s.step = CASE WHEN mints <= 1 THEN 'mint' ELSE 'mint_' || mints END AND s.state <> 'failed')) AS mint_hash
  FROM bridges`;

export interface BridgeRow {
  readonly id: string;
  readonly accountId: bigint;
  readonly fromChain: ChainId;
  readonly toChain: ChainId;
  readonly asset: Amount['asset'];
  readonly amount: bigint;
  readonly gasFee: bigint;
  readonly origin: Bridge['origin'];
  readonly burnerId: string;
  readonly status: BridgeStatus;
  readonly reached: Bridge['reached'];
  readonly burns: number;
  readonly maxFee: bigint | null;
  readonly mintRecipient: Hex | null;
  readonly burnNonce: bigint | null;
  readonly message: Hex | null;
  readonly attestation: Hex | null;
  readonly messageNonce: Hex | null;
  readonly mints: number;
  readonly minted: bigint | null;
  readonly burnHash: Hex | null;
  readonly mintHash: Hex | null;
  readonly error: string | null;
  readonly createdAt: Date;
}

export function toBridge(row: BridgeRow): Bridge {
  return {
    id: row.id,
    accountId: row.accountId,
    from: row.fromChain,
    to: row.toChain,
    amount: amountOf(row.asset, row.amount),
    gasFee: amountOf(row.asset, row.gasFee),
    origin: row.origin,
    burnerId: row.burnerId,
    status: row.status,
    reached: row.reached,
    burns: row.burns,
    maxFee: row.maxFee === null ? null : row.maxFee,
    mintRecipient: row.mintRecipient,
    burnNonce: row.burnNonce,
    message: row.message,
    attestation: row.attestation,
    messageNonce: row.messageNonce,
    mints: row.mints,
    minted: row.minted === null ? null : amountOf(row.asset, row.minted),
    burnHash: row.burnHash,
    mintHash: row.mintHash,
    error: row.error,
    createdAt: row.createdAt,
  };
}
