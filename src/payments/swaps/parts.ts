import { type Network, type Networks, tokenOf } from '../../chains/network.ts';
import { requireNetwork, type SagaParts } from '../../custody/steps/chain-step.ts';
import type { Spending } from '../../custody/steps/spending-wallet.ts';
import { findHouseWalletById, type HouseWallet } from '../../custody/wallets/house-wallets.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { type Asset, homeChain } from '../../money/catalogue.ts';
import type { Market } from '../../money/market.ts';
import { swapSaga } from './saga.ts';
import type { Swap } from './swap.ts';

export interface SwapParts extends SagaParts {
  readonly market: Market;
}

export const homeNetwork = (networks: Networks): Network => requireNetwork(networks, homeChain);

export function tokenAddress(networks: Networks, asset: Asset): `0x${string}` {
  const token = tokenOf(homeNetwork(networks), asset);
  if (token === undefined) throw new Error(`there is no ${asset} on ${homeChain}`);
  return token.address;
}

/** The house wallet that was chosen when the swap was opened. After a rotation it is a retired one. */
export async function findSwapper(db: Queryable, { id, swapperId }: Swap): Promise<HouseWallet> {
  const wallet = await findHouseWalletById(db, swapperId);
  if (wallet === undefined) throw new Error(`swap ${id} has no wallet to swap from`);
  return wallet;
}

export async function spendingOf(
  db: Queryable,
  { networks, market: { spender } }: Pick<SwapParts, 'networks' | 'market'>,
  swap: Swap,
): Promise<Spending> {
  const { id, net: amount } = swap;
  const wallet = await findSwapper(db, swap);
  const token = tokenAddress(networks, amount.asset);
  return { saga: swapSaga.name, sagaId: id, chain: homeChain, wallet, amount, token, spender };
}
