import { getAddress, type Hex, keccak256 } from 'viem';
import type { Database, Queryable, Transaction } from '../../src/kernel/db/database.ts';
import { lockUntilCommit } from '../../src/kernel/db/locks.ts';
import { type ChainId, chains } from '../../src/money/catalogue.ts';
import { mintAccount } from '../accounts.ts';
import type { FaucetAsset } from './tokens.ts';

export interface Mint {
  /** The idempotency key: one mint per id. */
  readonly id: string;
  readonly chain: ChainId;
  readonly asset: FaucetAsset;
  readonly to: Hex;
  readonly atomic: bigint;
}

/** A mint that is signed and stored. */
export interface SignedMint extends Mint {
  readonly nonce: number;
  readonly raw: Hex;
  readonly hash: Hex;
}

export interface MintCall {
  readonly to: Hex;
  readonly value?: bigint;
  readonly data?: Hex;
}

export type MintBook = ReturnType<typeof createMintBook>;

interface Waiting {
  readonly mint: Mint;
  readonly call: MintCall;
  readonly resolve: (signed: SignedMint) => void;
  readonly reject: (error: unknown) => void;
}

const gasLimit = 300_000n;
const maxFeePerGas = 1_000_000_000_000n;
const maxPriorityFeePerGas = 1_000_000_000n;
const mostAtOnce = 50;

/**
 * Signs and stores every mint before it is sent. A lock assigns each nonce once across processes; mints that wait for it in one
 * process are stored together.
 */
export function createMintBook(db: Database, minedNonce: (chain: ChainId) => Promise<number>) {
  const waiting = new Map<ChainId, Waiting[]>();
  const writing = new Set<ChainId>();

  async function work(chain: ChainId): Promise<void> {
    if (writing.has(chain)) return;
    writing.add(chain);
    const queue = waiting.get(chain) ?? [];
    try {
      while (queue.length > 0) {
        const group = queue.splice(0, mostAtOnce);
        try {
          const mined = await minedNonce(chain);
          const signed = await db.transaction((tx) => writeGroup(tx, chain, group, mined));
          group.forEach(({ mint, resolve, reject }) => {
            const found = signed.get(mint.id);
            if (found === undefined) reject(new Error('a mint was not written down'));
            else resolve(found);
          });
        } catch (error) {
          for (const { reject } of group) reject(error);
        }
      }
    } finally {
      writing.delete(chain);
    }
  }

  return {
    find: async (id: string) => (await findAll(db, [id])).get(id),
    /** Returns the signed transaction of this id, also if another process stored it. */
    write: (mint: Mint, call: MintCall) =>
      new Promise<SignedMint>((resolve, reject) => {
        const queue = waiting.get(mint.chain) ?? [];
        waiting.set(mint.chain, queue);
        queue.push({ mint, call, resolve, reject });
        void work(mint.chain);
      }),
    /** The next transactions that are not mined, in nonce order. */
    async listFrom(chain: ChainId, nonce: number): Promise<readonly Hex[]> {
      const { rows } = await db.query<{ raw: Hex }>(
        'SELECT raw FROM sandbox.mints WHERE chain = $1 AND nonce >= $2 ORDER BY nonce LIMIT 100',
        [chain, nonce],
      );
      return rows.map(({ raw }) => raw);
    },
  };
}

async function writeGroup(
  tx: Transaction,
  chain: ChainId,
  group: readonly Waiting[],
  mined: number,
): Promise<Map<string, SignedMint>> {
  await lockUntilCommit(tx, { kind: 'mint', of: chain });
  const signed = await findAll(
    tx,
    group.map(({ mint }) => mint.id),
  );
  let nonce = await nextNonce(tx, chain, mined);
  for (const { mint, call } of group) {
    if (signed.has(mint.id)) continue;
    const raw = await sign(chain, nonce, call);
    const hash = keccak256(raw);
    const { id, asset, atomic } = mint;
    const to = getAddress(mint.to);
    await tx.query(
      `INSERT INTO sandbox.mints (id, chain, asset, recipient, atomic, nonce, raw, hash)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [id, chain, asset, to, atomic, nonce, raw, hash],
    );
    signed.set(id, { ...mint, to, nonce, raw, hash });
    nonce++;
  }
  return signed;
}

/** The account also sends transactions when contracts are placed. */
async function nextNonce(tx: Transaction, chain: ChainId, mined: number): Promise<number> {
  const { rows } = await tx.query<{ next: number | null }>(
    'SELECT (max(nonce) + 1)::float8 AS next FROM sandbox.mints WHERE chain = $1',
    [chain],
  );
  return Math.max(rows[0]?.next ?? 0, mined);
}

function sign(chain: ChainId, nonce: number, call: MintCall): Promise<Hex> {
  return mintAccount.signTransaction({
    type: 'eip1559',
    chainId: chains[chain].chainId,
    nonce,
    gas: gasLimit,
    maxFeePerGas,
    maxPriorityFeePerGas,
    ...call,
  });
}

async function findAll(db: Queryable, ids: readonly string[]): Promise<Map<string, SignedMint>> {
  const { rows } = await db.query<SignedMint>(
    `SELECT id, chain, asset, recipient AS to, atomic, nonce::float8, raw, hash FROM sandbox.mints WHERE id = ANY($1)`,
    [ids],
  );
  return new Map(rows.map((row) => [row.id, row]));
}
