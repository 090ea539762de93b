import type { Queryable } from '../../kernel/db/database.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { houseAccount } from '../../ledger/account-id.ts';
import { houseBalance } from '../../ledger/balances.ts';
import { type Amount, amountOf, toDecimalText } from '../../money/amount.ts';
import { type Asset, type ChainId, chains } from '../../money/catalogue.ts';
import type { SagaParts } from '../steps/chain-step.ts';
import { houseWallet } from '../wallets/house-wallets.ts';
import { treasuryOverview } from './overview.ts';

export type FloatParts = Pick<SagaParts, 'db' | 'ledger' | 'networks'>;

/**
 * Books money that the operator sent to a house wallet as the operator's own. Tokens were booked as surplus when they
 * arrived. Native coin only shows in a wallet's balance, so whatever exceeds the books is the operator's.
 */
export async function addFloat(
  parts: FloatParts,
  { chain, amount }: { readonly chain: ChainId; readonly amount: Amount },
): Promise<void> {
  if (amount.asset === chains[chain].native) return addGas(parts, chain, amount);
  const { outcome } = await parts.ledger.post({
    type: 'float',
    amount,
    entries: [
      { account: houseAccount('surplus', amount.asset, chain), atomic: -amount.atomic },
      { account: houseAccount('equity', amount.asset, chain), atomic: amount.atomic },
    ],
  });
  if (outcome === 'posted') return;
  const surplus = await houseBalance(parts.db, 'surplus', amount.asset, chain);
  const { address } = await houseWallet(parts.db, 'treasury', chain);
  throw new Refusal(
    `Only ${toDecimalText(surplus)} ${amount.asset} has arrived on ${chain} that is not booked yet. Send the rest to ${address} and wait until it is confirmed.`,
  );
}

async function addGas({ db, ledger, networks }: FloatParts, chain: ChainId, amount: Amount): Promise<void> {
  const { asset } = amount;
  let held = 0n;
  for (const { wallet, content } of await treasuryOverview(db, networks)) {
    if (wallet.chain !== chain) continue;
    if (content === undefined) throw new Refusal(`${chain} does not answer. Try again later.`);
    held += content.gas.atomic;
  }
  // The tank is negative by what we hold. Coin unwrapped for users lies in the same wallets and is not the operator's.
  const booked =
    -(await houseBalance(db, 'gas_tank', asset, chain)).atomic -
    (await houseBalance(db, 'unwrapped_in_transit', asset, chain)).atomic +
    (await beingUnwrapped(db, chain, asset));
  if (held - booked < amount.atomic) {
    const found = amountOf(asset, held > booked ? held - booked : 0n);
    const { address } = await houseWallet(db, 'gas', chain);
    throw new Refusal(
      `Only ${toDecimalText(found)} ${asset} on ${chain} is not booked yet. Send the rest to ${address} first.`,
    );
  }
  const { outcome } = await ledger.post(gasFloat(chain, amount));
  if (outcome !== 'posted') throw new Error(`a float was not posted: ${outcome}`);
}

/** An upper bound of what may already be unwrapped before the books know: everything about to leave as a token. */
async function beingUnwrapped(db: Queryable, chain: ChainId, asset: Asset): Promise<bigint> {
  const { rows } = await db.query<{ atomic: bigint }>(
    `SELECT coalesce(sum(l.atomic), 0) AS atomic FROM chain_steps s JOIN chain_step_leaves l ON l.step_id = s.id
      WHERE s.chain = $1 AND l.asset = $2 AND s.asked_at IS NOT NULL AND s.settled_at IS NULL`,
    [chain, asset],
  );
  return rows[0]?.atomic ?? 0n;
}

export function gasFloat(chain: ChainId, amount: Amount, reference?: string) {
  return {
    type: 'float',
    amount,
    entries: [
      { account: houseAccount('gas_tank', amount.asset, chain), atomic: -amount.atomic },
      { account: houseAccount('gas', amount.asset, chain), atomic: amount.atomic },
    ],
    ...(reference !== undefined && { reference }),
  };
}
