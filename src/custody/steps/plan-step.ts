import type { Hex } from 'viem';
import type { Transaction } from '../../kernel/db/database.ts';
import { uuidFrom } from '../../kernel/ids/ids.ts';
import type { AccountId } from '../../ledger/account-id.ts';
import type { Amount } from '../../money/amount.ts';
import type { ChainId } from '../../money/catalogue.ts';
import type { HouseWallet } from '../wallets/house-wallets.ts';
import type { UserWallet } from '../wallets/user-wallets.ts';
import type { StepName } from './chain-step.ts';

/** Tokens that a step takes from its wallet. */
interface Leaving {
  readonly amount: Amount;
  /** Left out when it is not a single address. */
  readonly recipient?: Hex;
  /** The recipient is another wallet of ours. */
  readonly stays?: true;
  /** The tokens leave by an EIP-3009 signature that others submit, not by our transaction. */
  readonly authorizationNonce?: Hex;
}

/** Tokens that a step brings to a house wallet, and the ledger account to credit. */
export interface Expected {
  readonly chain: ChainId;
  readonly address: Hex;
  readonly asset: Amount['asset'];
  /** Left out when the amount is not known in advance. */
  readonly atomic?: bigint;
  readonly account: AccountId;
  /** `transaction`: our own brings it. Otherwise the proof that its receipt must contain, null while that is unknown. */
  readonly knownBy: 'transaction' | { readonly proof: string | null };
}

export interface NewStep {
  readonly saga: string;
  readonly sagaId: string;
  readonly step: string;
  readonly chain: ChainId;
  /** Left out when the step waits for the treasury's tokens of one asset. */
  readonly wallet?: HouseWallet;
  /** Instead of a house wallet. Its tokens stay with us, so nothing is set aside. */
  readonly userWallet?: UserWallet;
  readonly leaves?: readonly Leaving[];
  readonly arrives?: readonly Expected[];
}

/** Records a step with its key and its movements in the saga's commit, before the provider is asked. */
export async function planStep(tx: Transaction, planned: NewStep): Promise<void> {
  const { saga, sagaId, step, chain, wallet, userWallet, leaves = [], arrives = [] } = planned;
  const isWaiting = wallet === undefined && userWallet === undefined;
  if (userWallet !== undefined && leaves.length > 0)
    throw new TypeError(`${saga} ${step} takes nothing from the house`);
  // The lines are per asset, and a step without an asset would wait forever.
  if (isWaiting && leaves.length !== 1)
    throw new TypeError(`${saga} ${step} waits for one asset, not ${leaves.length}`);
  // Deterministic: planned again after a restore from a backup, the step has the same key, and the provider recognises it.
  const id = uuidFrom(`step ${sagaId} ${step}`);
  const { rowCount } = await tx.query(
    `INSERT INTO chain_steps (id, saga, saga_id, step, chain, wallet_id, user_wallet_id, state)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
     ON CONFLICT (saga_id, step) DO NOTHING`,
    [id, saga, sagaId, step, chain, wallet?.id ?? null, userWallet?.id ?? null, isWaiting ? 'waiting' : 'ready'],
  );
  if (rowCount === 0) return;
  for (const { amount, recipient, stays = false, authorizationNonce } of leaves) {
    await tx.query(
      `INSERT INTO chain_step_leaves (step_id, chain, wallet_id, asset, atomic, recipient, stays, authorization_nonce)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [
        id,
        chain,
        wallet?.id ?? null,
        amount.asset,
        amount.atomic,
        recipient?.toLowerCase() ?? null,
        stays,
        authorizationNonce ?? null,
      ],
    );
  }
  for (const { chain: where, address, asset, atomic, account, knownBy } of arrives) {
    const [kind, proof] = knownBy === 'transaction' ? ['transaction', null] : ['proof', knownBy.proof];
    await tx.query(
      `INSERT INTO chain_step_arrivals (step_id, chain, address, asset, atomic, account_id, known_by, proof)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [id, where, address.toLowerCase(), asset, atomic ?? null, account, kind, proof],
    );
  }
}

/** Only for steps that were never submitted: the database refuses others. */
export async function dropStep(tx: Transaction, { sagaId, step }: StepName): Promise<void> {
  await tx.query('DELETE FROM chain_steps WHERE saga_id = $1 AND step = $2', [sagaId, step]);
}

/** Part of the commit before a signed authorization is shown to its recipient: from then on the recipient may use it. */
export async function markSignatureShown(tx: Transaction, { sagaId, step }: StepName): Promise<void> {
  await tx.query(
    `UPDATE chain_steps SET state = 'asked', asked_at = coalesce(asked_at, clock_timestamp())
      WHERE saga_id = $1 AND step = $2 AND state = 'ready'`,
    [sagaId, step],
  );
}
