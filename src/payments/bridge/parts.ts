import { cctp } from '../../chains/cctp.ts';
import type { SagaParts } from '../../custody/steps/chain-step.ts';
import type { Spending } from '../../custody/steps/spending-wallet.ts';
import { findHouseWalletById, type HouseWallet } from '../../custody/wallets/house-wallets.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { chains } from '../../money/catalogue.ts';
import type { Attestations } from './attestations.ts';
import type { Bridge } from './bridge.ts';
import { bridgeSaga } from './saga.ts';

export interface BridgeParts extends SagaParts {
  readonly attestations: Attestations;
}

/** The house wallet that was chosen when the bridge was opened. After a rotation it is a retired one. */
export async function findBurner(db: Queryable, { id, burnerId }: Bridge): Promise<HouseWallet> {
  const wallet = await findHouseWalletById(db, burnerId);
  if (wallet === undefined) throw new Error(`bridge ${id} has no wallet to burn from`);
  return wallet;
}

export async function spendingOf(db: Queryable, bridge: Bridge): Promise<Spending> {
  const { id, from: chain, amount } = bridge;
  const wallet = await findBurner(db, bridge);
  const token = chains[chain].tokens.USDC;
  return { saga: bridgeSaga.name, sagaId: id, chain, wallet, amount, token, spender: cctp.tokenMessenger };
}
