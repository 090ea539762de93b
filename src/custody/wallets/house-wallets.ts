import { getAddress } from 'viem';
import type { Networks } from '../../chains/network.ts';
import type { Database, Queryable } from '../../kernel/db/database.ts';
import { newId } from '../../kernel/ids/ids.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { type ChainId, homeChain } from '../../money/catalogue.ts';
import type { HeldWallet, NewWallet, WalletProvider } from './provider.ts';

/** Each purpose has its own wallet and so its own nonces: a stuck transaction delays no other purpose. */
const housePurposes = ['treasury', 'gas', 'bridge', 'swaps', 'settlement', 'purchases'] as const;
export type HousePurpose = (typeof housePurposes)[number];

/** These need wallets on the home chain only. */
const atHomeOnly: ReadonlySet<HousePurpose> = new Set(['swaps', 'settlement', 'purchases']);

export interface HouseWallet extends HeldWallet {
  readonly id: string;
  readonly purpose: HousePurpose;
  readonly provider: string;
  /** From an earlier seed: nothing is sent there any more, but it is still ours. */
  readonly retired: boolean;
}

/** Creates the missing wallets, for every purpose on every chain that needs one. */
export async function openHouseWallets(db: Database, provider: WalletProvider, networks: Networks): Promise<void> {
  for (const purpose of housePurposes) {
    for (const chain of networks.keys()) {
      if (atHomeOnly.has(purpose) && chain !== homeChain) continue;
      const wallet = await findHouseWallet(db, purpose, chain);
      if (wallet === undefined) await addHouseWallet(db, provider, purpose, chain);
      else if (wallet.provider !== provider.name) {
        throw new Refusal(
          `The house wallets in this database belong to the provider "${wallet.provider}". Start with WALLET_PROVIDER=${wallet.provider}.`,
        );
      }
    }
  }
}

/** When instances start together, the first insert wins; the wallets that the others created stay unused. */
export async function addHouseWallet(
  db: Queryable,
  provider: WalletProvider,
  purpose: HousePurpose,
  chain: ChainId,
): Promise<void> {
  await insertHouseWallet(db, provider, { purpose, chain, wallet: await provider.createWallet({ chain }) });
}

export async function insertHouseWallet(
  db: Queryable,
  provider: Pick<WalletProvider, 'name'>,
  { purpose, chain, wallet }: { purpose: HousePurpose; chain: ChainId; wallet: NewWallet },
): Promise<void> {
  await db.query(
    `INSERT INTO house_wallets (id, purpose, chain, provider, provider_ref, address) VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (purpose, chain) WHERE retired_at IS NULL DO NOTHING`,
    [newId('wal'), purpose, chain, provider.name, wallet.ref, wallet.address],
  );
}

export async function houseWallet(db: Queryable, purpose: HousePurpose, chain: ChainId): Promise<HouseWallet> {
  const wallet = await findHouseWallet(db, purpose, chain);
  if (wallet === undefined) throw new Error(`there is no ${purpose} wallet on ${chain}`);
  return wallet;
}

/** Including retired ones. */
export async function listHouseWallets(db: Queryable): Promise<readonly HouseWallet[]> {
  const { rows } = await db.query<HouseWallet>(`${selectHouseWallet} ORDER BY chain, purpose, id`);
  return rows.map(checksummed);
}

export async function findHouseWalletById(db: Queryable, id: string): Promise<HouseWallet | undefined> {
  const { rows } = await db.query<HouseWallet>(`${selectHouseWallet} WHERE id = $1`, [id]);
  return rows[0] && checksummed(rows[0]);
}

async function findHouseWallet(db: Queryable, purpose: HousePurpose, chain: ChainId): Promise<HouseWallet | undefined> {
  const { rows } = await db.query<HouseWallet>(
    `${selectHouseWallet} WHERE purpose = $1 AND chain = $2 AND retired_at IS NULL`,
    [purpose, chain],
  );
  return rows[0] && checksummed(rows[0]);
}

const selectHouseWallet =
  'SELECT id, purpose, chain, provider, provider_ref AS ref, address, retired_at IS NOT NULL AS retired FROM house_wallets';

/** Addresses are stored as the provider spelled them, perhaps in lower case. */
export function checksummed<Wallet extends NewWallet>(wallet: Wallet): Wallet {
  return { ...wallet, address: getAddress(wallet.address) };
}
