import { parseEther } from 'viem';
import { type Network, type Networks, tokenBalance } from '../../chains/network.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { type Amount, amountOf } from '../../money/amount.ts';
import { type ChainId, chains } from '../../money/catalogue.ts';
import { type HouseWallet, listHouseWallets } from '../wallets/house-wallets.ts';

export interface WalletOverview {
  readonly wallet: HouseWallet;
  /** Undefined while its chain does not answer. */
  readonly content: WalletContent | undefined;
}

interface WalletContent {
  readonly tokens: readonly Amount[];
  readonly gas: Amount;
  /** In use, and soon unable to pay for its transactions. */
  readonly gasIsLow: boolean;
}

/** Every house wallet on a configured chain, retired ones included. */
export async function treasuryOverview(db: Queryable, networks: Networks): Promise<readonly WalletOverview[]> {
  const wallets = await listHouseWallets(db);
  const looks = wallets.flatMap((wallet) => {
    const network = networks.get(wallet.chain);
    return network === undefined ? [] : [{ wallet, content: lookInto(network, wallet) }];
  });
  const contents = await Promise.allSettled(looks.map(({ content }) => content));
  return looks.map(({ wallet }, index) => {
    const content = contents[index];
    return { wallet, content: content?.status === 'fulfilled' ? content.value : undefined };
  });
}

async function lookInto(network: Network, wallet: HouseWallet): Promise<WalletContent> {
  const { client, tokens } = network;
  const [native, ...balances] = await Promise.all([
    client.getBalance({ address: wallet.address }),
    ...tokens.map((token) => tokenBalance(network, token, wallet.address)),
  ]);
  return {
    tokens: tokens.map(({ asset }, index) => amountOf(asset, balances[index] ?? 0n)),
    gas: amountOf(chains[wallet.chain].native, native),
    gasIsLow: !wallet.retired && native < gasAlarmLevel(wallet.chain),
  };
}

/** In native coin, which has 18 decimals on every chain. */
export function gasAlarmLevel(chain: ChainId): bigint {
  return parseEther(chains[chain].gasAlarm);
}
