import type { Database, Transaction } from '../db/database.ts';
import { newId } from '../ids.ts';
import { addHouseWallet, listHouseWallets } from '../wallets/house-wallets.ts';
import type { ChainId, NewWallet, WalletProvider } from '../wallets/provider.ts';

export interface RotationParts {
  readonly db: Database;
  readonly provider: WalletProvider;
  /** Adds a seed, from which new wallets come from now on. */
  readonly addSeed: (tx: Transaction) => Promise<number>;
  /** How many accounts have a new wallet so far. */
  readonly onProgress?: (accounts: number) => void;
}

export interface Rotation {
  readonly seedId: number;
  readonly accounts: number;
  readonly houseWallets: number;
}

/**
 * Gives every account and every purpose of the house a wallet from a new seed. The old ones are retired, which means that
 * nobody is shown them any more; they are watched and swept for ever. A rotation that was interrupted is finished before
 * another one begins.
 */
export async function rotateSeed(parts: RotationParts): Promise<Rotation> {
  const { db } = parts;
  const seedId = (await unfinishedSeed(db)) ?? (await db.transaction(parts.addSeed));
  let accounts = 0;
  for (;;) {
    const next = await accountsOnOldSeeds(db, seedId);
    if (next.length === 0) break;
    for (const accountId of next) await renewWallets(parts, accountId, seedId);
    accounts += next.length;
    parts.onProgress?.(accounts);
  }
  return { seedId, accounts, houseWallets: await renewHouseWallets(parts, seedId) };
}

/** The newest seed, when it is not the first and something in use is still on an older one. */
async function unfinishedSeed(db: Database): Promise<number | undefined> {
  const { rows } = await db.query<{ id: number }>(
    `SELECT s.id FROM (SELECT max(id) AS id FROM wallet_seeds HAVING count(*) > 1) s
      WHERE EXISTS (SELECT FROM wallets WHERE ${onOldSeed('s.id')}) OR EXISTS (SELECT FROM house_wallets WHERE ${onOldSeed('s.id')})`,
  );
  return rows[0]?.id;
}

/** The reference of a wallet of ours begins with the number of its seed. */
function onOldSeed(seedId: string): string {
  return `provider = 'keys' AND retired_at IS NULL AND split_part(provider_ref, '/', 1)::integer < ${seedId}`;
}

async function accountsOnOldSeeds(db: Database, seedId: number): Promise<bigint[]> {
  const { rows } = await db.query<{ account_id: bigint }>(
    `SELECT DISTINCT account_id FROM wallets WHERE ${onOldSeed('$1')} ORDER BY account_id LIMIT 200`,
    [seedId],
  );
  return rows.map((row) => row.account_id);
}

/** All chains of an account at once, so that it has one address everywhere, before and after. */
async function renewWallets({ db, provider }: RotationParts, accountId: bigint, seedId: number): Promise<void> {
  const wallet = await provider.createWallet({ chain: 'MATIC' });
  await db.transaction(async (tx) => {
    const { rows } = await tx.query<{ chain: ChainId }>(
      `UPDATE wallets SET retired_at = now() WHERE account_id = $2 AND ${onOldSeed('$1')} RETURNING chain`,
      [seedId, accountId],
    );
    for (const { chain } of rows) await insertWallet(tx, accountId, chain, wallet, provider.name);
  });
}

async function insertWallet(
  tx: Transaction,
  accountId: bigint,
  chain: ChainId,
  { ref, address }: NewWallet,
  provider: string,
): Promise<void> {
  await tx.query(
    'INSERT INTO wallets (id, account_id, chain, provider, provider_ref, address) VALUES ($1, $2, $3, $4, $5, $6)',
    [newId('wal'), accountId, chain, provider, ref, address],
  );
}

async function renewHouseWallets({ db, provider }: RotationParts, seedId: number): Promise<number> {
  const old = (await listHouseWallets(db)).filter(({ retired, ref }) => !retired && Number(ref.split('/')[0]) < seedId);
  for (const { id, purpose, chain } of old) {
    await db.transaction(async (tx) => {
      const { rowCount } = await tx.query(
        'UPDATE house_wallets SET retired_at = now() WHERE id = $1 AND retired_at IS NULL',
        [id],
      );
      if (rowCount === 1) await addHouseWallet(tx, provider, purpose, chain);
    });
  }
  return old.length;
}
