import { randomBytes } from 'node:crypto';
import { type HDAccount, HDKey, hdKeyToAccount } from 'viem/accounts';
import { type Database, onlyRow, type Transaction } from '../../../kernel/db/database.ts';
import { Refusal } from '../../../kernel/refusal.ts';
import type { Secrets } from '../../../kernel/secrets/secrets.ts';
import type { SeedRotation } from '../../wallets/provider.ts';

/** The standard path of Ethereum accounts; a wallet is the child with its index. */
const accountsPath = "m/44'/60'/0'/0";

/** Derived accounts in the cache, least recently used first out. */
const mostDerived = 1_000;

/**
 * The master seeds, encrypted at rest with the operator's secret. New wallets come from the newest seed with a
 * confirmed backup; the others still sign.
 */
export interface Seeds extends SeedRotation {
  /** The next address of the newest seed in use. Its index is never reused. */
  next(): Promise<{ readonly ref: string; readonly account: HDAccount }>;
  account(ref: string): Promise<HDAccount>;
}

export async function openSeeds(db: Database, secrets: Secrets): Promise<Seeds> {
  const parents = new Map<number, HDKey>();
  const derived = new Map<string, HDAccount>();

  async function parentOf(seedId: number): Promise<HDKey> {
    const known = parents.get(seedId);
    if (known !== undefined) return known;
    const row = onlyRow(await db.query<{ sealed: Buffer }>('SELECT sealed FROM wallet_seeds WHERE id = $1', [seedId]));
    const parent = HDKey.fromMasterSeed(openSeed(secrets, row.sealed)).derive(accountsPath);
    parents.set(seedId, parent);
    return parent;
  }

  const derive = async (seedId: number, index: number) => hdKeyToAccount((await parentOf(seedId)).deriveChild(index));

  /** Deriving takes as long as several signatures, and the few house wallets sign most. */
  function keep(ref: string, account: HDAccount): HDAccount {
    derived.delete(ref);
    derived.set(ref, account);
    const [oldest] = derived.keys();
    if (derived.size > mostDerived && oldest !== undefined) derived.delete(oldest);
    return account;
  }

  // Decrypted at once, so that a wrong secret fails at start-up.
  await parentOf(await db.transaction((tx) => newestSeed(tx, secrets, { inUse: true })));

  return {
    async next() {
      const { index, seed } = onlyRow(
        await db.query<{ index: number; seed: number }>(
          "SELECT nextval('wallet_index')::integer AS index, max(id) AS seed FROM wallet_seeds WHERE backed_up_at IS NOT NULL",
        ),
      );
      return { ref: `${seed}/${index}`, account: await derive(seed, index) };
    },
    async account(ref) {
      const known = derived.get(ref);
      if (known !== undefined) return keep(ref, known);
      const [seed, index] = ref.split('/').map(Number);
      if (!Number.isSafeInteger(seed) || !Number.isSafeInteger(index))
        throw new Error(`${ref} is not a wallet reference`);
      return keep(ref, await derive(seed as number, index as number));
    },
    prepare: () => db.transaction((tx) => newestSeed(tx, secrets, { inUse: false })),
    async confirm(seedId) {
      const { rowCount } = await db.query(
        'UPDATE wallet_seeds SET backed_up_at = clock_timestamp() WHERE id = $1 AND backed_up_at IS NULL',
        [seedId],
      );
      if (rowCount === 0) throw new Refusal(`No seed ${seedId} is waiting for its backup to be confirmed.`);
    },
    async renew(ref, seedId) {
      const index = Number(ref.split('/')[1]);
      const { address } = await derive(seedId, index);
      return { ref: `${seedId}/${index}`, address };
    },
  };
}

async function addSeed(tx: Transaction, secrets: Secrets, { inUse }: { readonly inUse: boolean }): Promise<number> {
  const sealed = secrets.seal('wallet-seed', randomBytes(64).toString('hex'));
  const added = await tx.query<{ id: number }>(
    'INSERT INTO wallet_seeds (sealed, backed_up_at) VALUES ($1, CASE WHEN $2 THEN clock_timestamp() END) RETURNING id',
    [sealed, inUse],
  );
  return onlyRow(added).id;
}

/**
 * The newest seed in use, or the one that waits for its backup; a new one if there is none. The first seed needs no confirmed
 * backup, because any backup contains it. The lock makes instances that start together agree on one.
 */
async function newestSeed(tx: Transaction, secrets: Secrets, { inUse }: { readonly inUse: boolean }): Promise<number> {
  await tx.query('LOCK TABLE wallet_seeds IN SHARE ROW EXCLUSIVE MODE');
  const { rows } = await tx.query<{ id: number | null }>(
    'SELECT max(id) AS id FROM wallet_seeds WHERE (backed_up_at IS NOT NULL) = $1',
    [inUse],
  );
  return rows[0]?.id ?? addSeed(tx, secrets, { inUse });
}

function openSeed(secrets: Secrets, sealed: Buffer): Buffer {
  try {
    return Buffer.from(secrets.open('wallet-seed', sealed), 'hex');
  } catch {
    throw new Refusal(
      'PAYWRIGHT_SECRET does not decrypt the wallet seed in this database: the seed was encrypted with another secret.',
    );
  }
}
