import { parseUnits } from 'viem';
import type { Transaction } from '../../kernel/db/database.ts';
import { houseAccount, userAccount } from '../../ledger/account-id.ts';
import { balancesOf, type Claim } from '../../ledger/balances.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { postSurely } from '../../ledger/post-surely.ts';
import { type Asset, assetIds, assets } from '../../money/catalogue.ts';
import { listed } from '../../money/in-words.ts';

/** The amounts that an owner may give up, summed over all chains, in words. */
export const forfeitable = listed(assetIds.map((asset) => `${assets[asset].forfeitable} ${asset}`));

const most = new Map(assetIds.map((asset) => [asset, parseUnits(assets[asset].forfeitable, assets[asset].decimals)]));

/** Whether the balances are small enough and nothing is on hold. */
export async function mayForfeit(tx: Transaction, accountId: bigint, claims: readonly Claim[]): Promise<boolean> {
  const spendable = new Map((await balancesOf(tx, accountId)).map(({ account, balance }) => [account, balance.atomic]));
  const sums = new Map<Asset, bigint>();
  for (const { chain, total } of claims) {
    const { asset, atomic } = total;
    if (spendable.get(userAccount(accountId, asset, chain)) !== atomic) return false;
    sums.set(asset, (sums.get(asset) ?? 0n) + atomic);
  }
  return [...sums].every(([asset, sum]) => sum <= (most.get(asset) ?? 0n));
}

/** Moves the balances to the house. The tokens stay where they are; only the owner in the ledger changes. */
export async function forfeit(
  tx: Transaction,
  ledger: Ledger,
  { accountId, claims }: { readonly accountId: bigint; readonly claims: readonly Claim[] },
): Promise<void> {
  const postings = claims.map(({ chain, total }) => ({
    type: 'forfeited',
    amount: total,
    senderId: accountId,
    description: 'Given up when the account was closed',
    reference: `forfeited:${accountId}:${chain}:${total.asset}`,
    entries: [
      { account: userAccount(accountId, total.asset, chain), atomic: -total.atomic },
      { account: houseAccount('surplus', total.asset, chain), atomic: total.atomic },
    ],
  }));
  await postSurely(tx, ledger, postings);
}
