import { type Database, onlyRow } from '../../kernel/db/database.ts';
import type { ChainId } from '../../money/catalogue.ts';
import { type HouseWallet, insertHouseWallet, listHouseWallets } from '../wallets/house-wallets.ts';
import {
  ProviderError,
  type SeedRotation,
  type UnknownTransactions,
  type WalletProvider,
} from '../wallets/provider.ts';
import { assignWallet } from '../wallets/user-wallets.ts';

export interface RotationParts {
  readonly db: Database;
  readonly provider: WalletProvider;
  readonly seedRotation: SeedRotation;
  readonly unknownTransactions?: UnknownTransactions | undefined;
  /** Called with the number of accounts that have a new wallet. */
  readonly onProgress?: (accounts: number) => void;
}

export interface Rotation {
  readonly seedId: number;
  readonly accounts: number;
  readonly houseWallets: number;
  /** House wallets that stay in use until their unknown transactions are explained. */
  readonly kept: readonly HouseWallet[];
}

/**
 * Gives every account and every house purpose a wallet from a new seed. The old wallets are retired: no longer shown,
 * but watched and swept forever. An interrupted rotation is finished before another begins. A new seed is only prepared
 * at first; no wallet comes from it until the operator confirms that a backup contains it, because a restore from an
 * older backup would lose everything that moved to its wallets.
 */
export async function rotateSeed(
  parts: RotationParts,
  { backedUp }: { readonly backedUp?: number } = {},
): Promise<Rotation | { readonly needsBackupOf: number }> {
  const { db, seedRotation } = parts;
  const unfinished = await unfinishedSeed(db);
  if (backedUp !== undefined && backedUp !== unfinished) await seedRotation.confirm(backedUp);
  const seedId = backedUp ?? unfinished;
  if (seedId === undefined) return { needsBackupOf: await seedRotation.prepare() };
  let accounts = 0;
  for (;;) {
    const next = await accountsOnOldSeeds(db, seedId);
    if (next.length === 0) break;
    for (const accountId of next) await renewWallets(parts, accountId, seedId);
    accounts += next.length;
    parts.onProgress?.(accounts);
  }
  return { seedId, accounts, ...(await renewHouseWallets(parts, seedId)) };
}

/** The newest seed in use, if an active wallet still comes from an older one. */
async function unfinishedSeed(db: Database): Promise<number | undefined> {
  const { rows } = await db.query<{ id: number }>(
    `SELECT s.id FROM (SELECT max(id) AS id FROM wallet_seeds WHERE backed_up_at IS NOT NULL HAVING count(*) > 1) s
      WHERE EXISTS (SELECT FROM wallets WHERE ${onOldSeed('s.id')}) OR EXISTS (SELECT FROM house_wallets WHERE ${onOldSeed('s.id')})`,
  );
  return rows[0]?.id;
}

/** The reference of a wallet begins with the number of its seed. */
function onOldSeed(seedId: string): string {
  return `provider = 'keys' AND retired_at IS NULL AND split_part(provider_ref, '/', 1)::integer < ${seedId}`;
}

async function accountsOnOldSeeds(db: Database, seedId: number): Promise<bigint[]> {
  const { rows } = await db.query<{ accountId: bigint }>(
    `SELECT DISTINCT account_id FROM wallets WHERE ${onOldSeed('$1')} ORDER BY account_id LIMIT 200`,
    [seedId],
  );
  return rows.map((row) => row.accountId);
}

/** All chains of an account in one commit, so that it has the same address everywhere, before and after. */
async function renewWallets(
  { db, provider, seedRotation }: RotationParts,
  accountId: bigint,
  seedId: number,
): Promise<void> {
  const { ref } = onlyRow(
    await db.query<{ ref: string }>(
      `SELECT provider_ref AS ref FROM wallets WHERE account_id = $2 AND ${onOldSeed('$1')}
        ORDER BY split_part(provider_ref, '/', 2)::bigint LIMIT 1`,
      [seedId, accountId],
    ),
  );
  const wallet = await seedRotation.renew(ref, seedId);
  await db.transaction(async (tx) => {
    const { rows } = await tx.query<{ chain: ChainId }>(
      `UPDATE wallets SET retired_at = now() WHERE account_id = $2 AND ${onOldSeed('$1')} RETURNING chain`,
      [seedId, accountId],
    );
    for (const { chain } of rows) await assignWallet(tx, { accountId, chain, provider: provider.name, wallet });
  });
}

async function renewHouseWallets(
  parts: RotationParts,
  seedId: number,
): Promise<Pick<Rotation, 'houseWallets' | 'kept'>> {
  const { db, provider, seedRotation } = parts;
  const old = (await listHouseWallets(db)).filter(({ retired, ref }) => !retired && Number(ref.split('/')[0]) < seedId);
  const kept: HouseWallet[] = [];
  for (const wallet of old) {
    if (await mayHavePaid(parts, wallet)) {
      kept.push(wallet);
      continue;
    }
    const { id, purpose, chain, ref } = wallet;
    const renewed = await seedRotation.renew(ref, seedId);
    await db.transaction(async (tx) => {
      const { rowCount } = await tx.query(
        'UPDATE house_wallets SET retired_at = now() WHERE id = $1 AND retired_at IS NULL',
        [id],
      );
      if (rowCount === 1) await insertHouseWallet(tx, provider, { purpose, chain, wallet: renewed });
    });
  }
  return { houseWallets: old.length - kept.length, kept };
}

/**
 * After a restore from a backup, the wallet may already have paid what this database still has to pay. Steps that match
 * wait only while they are paid from that wallet; a new wallet in its place would pay again.
 */
async function mayHavePaid({ unknownTransactions }: RotationParts, wallet: HouseWallet): Promise<boolean> {
  if (unknownTransactions === undefined) return false;
  try {
    await unknownTransactions.look(wallet);
  } catch (error) {
    // A chain that is switched off sends nothing. Of a silent one we cannot know.
    return !(error instanceof ProviderError) || error.code !== 'chain_not_available';
  }
  return unknownTransactions.hasOpen(wallet);
}
