import type { Hex } from 'viem';
import type { Transaction } from '../../kernel/db/database.ts';
import { uuidFrom } from '../../kernel/ids/uuid-from.ts';
import type { AccountId } from '../../ledger/account-id.ts';
import type { Amount } from '../../money/amount.ts';
import type { ChainId } from '../../money/catalogue.ts';
import type { HouseWallet } from '../wallets/house-wallets.ts';
import type { UserWallet } from '../wallets/user-wallets.ts';

/** What a step takes from its wallet. */
interface Leaving {
  readonly amount: Amount;
  /** Who gets it, where that is one address. */
  readonly recipient?: Hex;
  /** Another wallet of ours gets it. */
  readonly stays?: true;
  /** It leaves by a signature (EIP-3009) that others submit, and no transaction of ours. */
  readonly authorizationNonce?: Hex;
}

/** What a step brings to a house wallet, and the account of the ledger that it is for. */
export interface Expected {
  readonly chain: ChainId;
  readonly address: Hex;
  readonly asset: Amount['asset'];
  /** Left out when only the chain will tell. */
  readonly atomic?: bigint;
  readonly account: AccountId;
  /** `transaction`: it comes with our own. Otherwise what its receipt must prove, whoever sent it; null if not known yet. */
  readonly knownBy: 'transaction' | { readonly proof: string | null };
}

export interface NewStep {
  /** The name of the saga. */
  readonly saga: string;
  readonly sagaId: string;
  readonly step: string;
  readonly chain: ChainId;
  /** Left out when it waits for liquidity, of one asset: then the treasury sends it, once it has enough. */
  readonly wallet?: HouseWallet;
  /** Instead of one of the house. What it takes from there stays with us, and is nobody's promise. */
  readonly userWallet?: UserWallet;
  readonly leaves?: readonly Leaving[];
  readonly arrives?: readonly Expected[];
}

/** Writes a step down, with its key and what it will move, in the saga's own commit. Nobody is asked yet. */
export async function planStep(tx: Transaction, planned: NewStep): Promise<void> {
  const { saga, sagaId, step, chain, wallet, userWallet, leaves = [], arrives = [] } = planned;
  const isWaiting = wallet === undefined && userWallet === undefined;
  if (userWallet !== undefined && leaves.length > 0)
    throw new TypeError(`${saga} ${step} takes nothing from the house`);
  // The line of one asset says nothing about another, and without any it would wait forever.
  if (isWaiting && leaves.length !== 1)
    throw new TypeError(`${saga} ${step} waits for one asset, not ${leaves.length}`);
  // Planned anew after a restore from a backup, it is asked for under the same key: a provider that has taken it knows it again.
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

/** What was never asked for can be dropped, with all that it would have moved. */
export async function dropStep(
  tx: Transaction,
  { sagaId, step }: { readonly sagaId: string; readonly step: string },
): Promise<void> {
  await tx.query('DELETE FROM chain_steps WHERE saga_id = $1 AND step = $2', [sagaId, step]);
}
