import { keepBelow, smaller } from '../../chains/gas-fee-ceiling.ts';
import type { Network } from '../../chains/network.ts';
import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import { houseAccount } from '../../ledger/account-id.ts';
import type { Posting } from '../../ledger/posting.ts';
import { amountOf } from '../../money/amount.ts';
import { type ChainId, chains } from '../../money/catalogue.ts';

/** Room for the fee to double until a transaction is signed: no provider sets aside more. */
const roomForFees = 2n;

/** So that what is lent is enough when it has doubled once more, and is left for the next time when it has not. */
const loanOverNeed = 2n;

/**
 * What a transaction may cost at the chain's price of this moment, in native coin. Never more than the ceiling lets anybody
 * offer; above it nothing is lent, because nothing would be sent either.
 */
export async function gasNeeded(
  { id: chain, client, feeCeiling }: Pick<Network, 'id' | 'client' | 'feeCeiling'>,
  gasLimit: bigint,
): Promise<bigint> {
  const { maxFeePerGas, maxPriorityFeePerGas: tip } = await client.estimateFeesPerGas();
  const { priorityFee } = keepBelow(feeCeiling, { chain, baseFee: maxFeePerGas - tip, tip });
  const price = smaller((maxFeePerGas - tip + priorityFee) * roomForFees, feeCeiling.maxFee);
  return smaller(gasLimit, feeCeiling.gasLimit) * price;
}

/** How much is to be lent to a wallet that needs this much; nothing when what it has left of earlier loans is enough. */
export async function missingGas(db: Queryable, walletId: string, needed: bigint): Promise<bigint> {
  const { rows } = await db.query<{ atomic: bigint }>('SELECT atomic FROM lent_gas WHERE wallet_id = $1', [walletId]);
  // The books and not the chain: what strangers send there is not ours to spend, and a node that lags would make us lend twice.
  const lent = rows[0]?.atomic ?? 0n;
  return lent >= needed ? 0n : loanOverNeed * needed - lent;
}

/** Native coin has come to a wallet, or has left it as a fee. */
export async function noteLent(tx: Transaction, walletId: string, change: bigint): Promise<void> {
  await tx.query(
    `INSERT INTO lent_gas AS known (wallet_id, atomic) VALUES ($1, $2)
     ON CONFLICT (wallet_id) DO UPDATE SET atomic = known.atomic + excluded.atomic`,
    [walletId, change],
  );
}

/** From the tank to a user's wallet: it stays the operator's, and is not spent yet. */
export function gasLent(
  chain: ChainId,
  { stepId, atomic }: { readonly stepId: string; readonly atomic: bigint },
): Posting {
  const { native } = chains[chain];
  return {
    type: 'gas_loan',
    amount: amountOf(native, atomic),
    entries: [
      { account: houseAccount('gas_tank', native, chain), atomic },
      { account: houseAccount('gas_lent', native, chain), atomic: -atomic },
    ],
    reference: `gas_loan:${stepId}`,
  };
}
