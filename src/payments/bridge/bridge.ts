import type { Hex } from 'viem';
import { numberedStep } from '../../custody/steps/advance-saga.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { type AccountId, heldAccount, userAccount } from '../../ledger/account-id.ts';
import { type Amount, add, amountOf, type Stored } from '../../money/amount.ts';
import type { ChainId } from '../../money/catalogue.ts';
import { keyFrozen } from '../../policies/frozen.ts';
import type { BridgeStatus } from './saga.ts';

export interface Bridge {
  readonly id: string;
  readonly accountId: bigint;
  /** The key that asked for it; null for a deposit that is moved home. */
  readonly keyId: string | null;
  readonly from: ChainId;
  readonly to: ChainId;
  /** The amount that is burned. */
  readonly amount: Amount;
  /** The gas of both chains, debited in addition to the amount. */
  readonly gasFee: Amount;
  /** The part of it for the source chain. */
  readonly gasLeaving: Amount;
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

/**
 * What the owner pays of a transfer that a frozen key has stopped: by then the wallet was filled and has approved the protocol.
 * Otherwise whoever freezes a key could have us pay for transfers that never happen.
 */
export function gasKeptOf({ status, error, reached, gasLeaving }: GasKept): Amount {
  const wasFilled = status === 'returning' || reached.returning !== undefined;
  return wasFilled && error === keyFrozen ? gasLeaving : amountOf(gasLeaving.asset, 0n);
}

type GasKept = Pick<Bridge, 'status' | 'error' | 'reached' | 'gasLeaving'>;

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
  return (await selectBridges(db, 'WHERE id = $1', [id]))[0];
}

/** Until the mint has arrived, our own delivery is shown. Then the transaction that delivered it counts, no matter who sent that. */
export async function selectBridges(db: Queryable, where: string, values: readonly unknown[]): Promise<Bridge[]> {
  const { rows } = await db.query<Stored<Bridge, 'amount' | 'gasFee' | 'gasLeaving' | 'minted'>>(
    `SELECT id, account_id, key_id, from_chain AS "from", to_chain AS "to", asset, amount, gas_fee, gas_leaving, origin, burner_id, status, reached,
        burns, max_fee, mint_recipient, burn_nonce, message, attestation, message_nonce, mints, minted, error, created_at,
        coalesce(burn_hash, (SELECT s.hash FROM chain_steps s WHERE s.saga_id = bridges.id
            AND s.step = CASE burns WHEN 1 THEN 'burn' ELSE 'burn_' || burns END AND s.state <> 'failed')) AS burn_hash,
        coalesce(mint_hash, (SELECT s.hash FROM chain_steps s WHERE s.saga_id = bridges.id
            AND s.step = CASE WHEN mints <= 1 THEN 'mint' ELSE 'mint_' || mints END AND s.state <> 'failed')) AS mint_hash
      FROM bridges ${where}`,
    values,
  );
  return rows.map(({ asset, ...row }) => ({
    ...row,
    amount: amountOf(asset, row.amount),
    gasFee: amountOf(asset, row.gasFee),
    gasLeaving: amountOf(asset, row.gasLeaving),
    minted: row.minted === null ? null : amountOf(asset, row.minted),
  }));
}
