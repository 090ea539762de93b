import { randomBytes } from 'node:crypto';
import { HDKey, hdKeyToAccount } from 'viem/accounts';
import { type Database, onlyRow } from '../../db/database.ts';
import { Refusal } from '../../refusal.ts';
import type { Secrets } from '../../secrets.ts';
import type { WalletProvider } from '../../wallets/provider.ts';

/** The standard path of Ethereum accounts; a user's wallet is its child with the wallet's index. */
const accountsPath = "m/44'/60'/0'/0";

/**
 * Keys of our own: one master seed, sealed at rest with the operator's secret, and one address per user derived from
 * it. Deriving is local, so a wallet costs no call to anybody.
 */
export async function createKeysProvider(db: Database, secrets: Secrets): Promise<WalletProvider> {
  const seed = await loadSeed(db, secrets);
  const parent = HDKey.fromMasterSeed(seed.bytes).derive(accountsPath);

  return {
    name: 'keys',
    async createWallet() {
      const { index } = onlyRow(await db.query<{ index: bigint }>("SELECT nextval('wallet_index') AS index"));
      const account = hdKeyToAccount(parent.deriveChild(Number(index)));
      return { ref: `${seed.id}/${index}`, address: account.address };
    },
  };
}

/** The newest seed, or the first one when there is none yet. Instances that start together agree on one. */
async function loadSeed(db: Database, secrets: Secrets): Promise<{ id: number; bytes: Buffer }> {
  const row = await db.transaction(async (tx) => {
    await tx.query('LOCK TABLE wallet_seeds IN SHARE ROW EXCLUSIVE MODE');
    const { rows } = await tx.query<{ id: number; sealed: Buffer }>(
      'SELECT id, sealed FROM wallet_seeds ORDER BY id DESC LIMIT 1',
    );
    if (rows[0] !== undefined) return rows[0];
    const sealed = secrets.seal('wallet-seed', randomBytes(64).toString('hex'));
    return onlyRow(
      await tx.query<{ id: number; sealed: Buffer }>(
        'INSERT INTO wallet_seeds (sealed) VALUES ($1) RETURNING id, sealed',
        [sealed],
      ),
    );
  });
  try {
    return { id: row.id, bytes: Buffer.from(secrets.open('wallet-seed', row.sealed), 'hex') };
  } catch {
    throw new Refusal(
      'The secret does not open the wallet seed in this database: it was sealed with another PAYWRIGHT_SECRET.',
    );
  }
}
