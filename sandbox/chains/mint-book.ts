import { getAddress, type Hex, keccak256 } from 'viem';
import type { Database, Queryable, Transaction } from '../../src/kernel/db/database.ts';
import { lockUntilCommit } from '../../src/kernel/db/locks.ts';
import { type ChainId, chains } from '../../src/money/catalogue.ts';
import { createGatherer } from '../../src/x402/sell/gather.ts';
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

interface NewMint {
  readonly mint: Mint;
  readonly call: MintCall;
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
  const writers = new Map<ChainId, (one: NewMint) => Promise<SignedMint>>();

  function writerOf(chain: ChainId): (one: NewMint) => Promise<SignedMint> {
    const writer =
      writers.get(chain) ??
      createGatherer({
        atOnce: mostAtOnce,
        mostInFlight: 1,
        async run(group: readonly NewMint[]) {
          const mined = await minedNonce(chain);
          return db.transaction((tx) => writeGroup(tx, chain, group, mined));
        },
      });
    writers.set(chain, writer);
    return writer;
  }

  return {
    find: async (id: string) => (await findAll(db, [id])).get(id),
    /** Returns the signed transaction of this id, also if another process stored it. */
    write: (mint: Mint, call: MintCall) => writerOf(mint.chain)({ mint, call }),
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
  group: readonly NewMint[],
  mined: number,
): Promise<SignedMint[]> {
  await lockUntilCommit(tx, { kind: 'mint', of: chain });
  const signed = await findAll(
    tx,
    group.map(({ mint }) => mint.id),
  );
  let nonce = await nextNonce(tx, chain, mined);
  const mints: SignedMint[] = [];
  for (const { mint, call } of group) {
    const one = signed.get(mint.id) ?? (await writeOne(tx, mint, call, nonce++));
    signed.set(mint.id, one);
    mints.push(one);
  }
  return mints;
}

async function writeOne(tx: Transaction, mint: Mint, call: MintCall, nonce: number): Promise<SignedMint> {
  const { id, chain, asset, atomic } = mint;
  const to = getAddress(mint.to);
  const raw = await sign(chain, nonce, call);
  const hash = keccak256(raw);
  await tx.query(
    `INSERT INTO sandbox.mints (id, chain, asset, recipient, atomic, nonce, raw, hash)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [id, chain, asset, to, atomic, nonce, raw, hash],
  );
  return { ...mint, to, nonce, raw, hash };
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
