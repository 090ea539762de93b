import { type Hex, keccak256 } from 'viem';
import type { HDAccount } from 'viem/accounts';
import { type ChainId, chains } from '../../chains/chains.ts';
import type { GasFees } from '../../chains/fee-ceiling.ts';
import { type Database, onlyRow, type Queryable, type Transaction } from '../../db/database.ts';
import { ProviderError } from '../../wallets/provider.ts';

/** Transactions that were signed and written down, and what has become of them. */
export interface KeyTransaction {
  readonly id: string;
  readonly chain: ChainId;
  readonly sender: Hex;
  readonly walletRef: string;
  /** Null when it was refused before it was signed. */
  readonly nonce: number | null;
  readonly to: Hex;
  readonly data: Hex;
  readonly value: bigint;
  readonly gasLimit: bigint | null;
  readonly state: 'pending' | 'confirmed' | 'failed';
  readonly minedHash: Hex | null;
  readonly blockNumber: bigint | null;
  readonly gasCost: bigint | null;
  readonly reason: string | null;
}

/** One signature of a transaction. All attempts share its nonce, so at most one of them is ever mined. */
export interface Attempt extends GasFees {
  readonly hash: Hex;
  readonly raw: Hex;
  readonly ageMs: number;
}

export type NewKeyTransaction = Pick<KeyTransaction, 'id' | 'chain' | 'sender' | 'walletRef' | 'to' | 'data' | 'value'>;

export async function findTransaction(db: Queryable, id: string): Promise<KeyTransaction | undefined> {
  const { rows } = await db.query<TransactionRow>(`${select} WHERE id = $1`, [id]);
  return rows[0] && toTransaction(rows[0]);
}

/** What it takes to sign: how much gas to allow, what to pay for it, and with which key. */
export interface Signing {
  readonly account: HDAccount;
  readonly fees: GasFees;
  readonly gasLimit: bigint;
}

/**
 * Draws the sender's next nonce, signs, and writes both down in one commit: a nonce that was drawn belongs to a signed
 * transaction, and no other transaction ever gets it. A refusal is written down as well. However many ask with one id,
 * one of them decides, and everybody gets that.
 */
export async function signAndKeep(
  db: Database,
  transaction: NewKeyTransaction,
  signing: Signing | ProviderError,
  firstNonce: number | undefined,
): Promise<KeyTransaction> {
  const { id, chain, sender, walletRef, to, data, value } = transaction;
  return db.transaction(async (tx) => {
    await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`key transaction ${id}`]);
    const earlier = await findTransaction(tx, id);
    if (earlier !== undefined) return earlier;
    const refused = signing instanceof ProviderError;
    const nonce = refused ? null : await drawNonce(tx, chain, sender, firstNonce);
    const kept = await tx.query<TransactionRow>(
      `INSERT INTO key_transactions (id, chain, sender, provider_ref, nonce, recipient, data, value, gas_limit, state, reason)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING ${columns}`,
      [
        id,
        chain,
        sender,
        walletRef,
        nonce,
        to,
        toBytes(data),
        value,
        refused ? null : signing.gasLimit,
        refused ? 'failed' : 'pending',
        refused ? signing.message : null,
      ],
    );
    if (!refused && nonce !== null) await keepAttempt(tx, { ...transaction, ...signing, nonce });
    return toTransaction(onlyRow(kept));
  });
}

export async function hasNonces(db: Queryable, chain: ChainId, sender: Hex): Promise<boolean> {
  const { rows } = await db.query('SELECT FROM key_nonces WHERE chain = $1 AND sender = $2', [chain, sender]);
  return rows.length > 0;
}

/** Signs the transaction again with other fees, unless somebody has just done so. */
export async function signReplacement(
  db: Database,
  transaction: KeyTransaction,
  signer: { readonly account: HDAccount; readonly fees: GasFees; readonly insteadOf: Hex },
): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.query('SELECT FROM key_transactions WHERE id = $1 FOR UPDATE', [transaction.id]);
    const [newest] = await listAttempts(tx, transaction.id);
    const { nonce, gasLimit } = transaction;
    if (newest?.hash !== signer.insteadOf || nonce === null || gasLimit === null) return;
    await keepAttempt(tx, { ...transaction, ...signer, nonce, gasLimit });
  });
}

/** Newest first. */
export async function listAttempts(db: Queryable, id: string): Promise<readonly Attempt[]> {
  const { rows } = await db.query<AttemptRow>(
    `SELECT hash, raw, max_fee, priority_fee, extract(epoch FROM now() - signed_at) * 1000 AS age_ms
       FROM key_transaction_attempts WHERE transaction_id = $1 ORDER BY max_fee DESC`,
    [id],
  );
  return rows.map((row) => ({
    hash: row.hash,
    raw: toHex(row.raw),
    maxFee: BigInt(row.max_fee),
    priorityFee: BigInt(row.priority_fee),
    ageMs: Number(row.age_ms),
  }));
}

/** The newest signature of whichever transaction of a wallet has this nonce, whatever has become of it. */
export async function findByNonce(
  db: Queryable,
  chain: ChainId,
  sender: Hex,
  nonce: number,
): Promise<{ readonly raw: Hex } | undefined> {
  const { rows } = await db.query<{ raw: Buffer }>(
    `SELECT a.raw FROM key_transactions t JOIN key_transaction_attempts a ON a.transaction_id = t.id
      WHERE t.chain = $1 AND t.sender = $2 AND t.nonce = $3 ORDER BY a.max_fee DESC LIMIT 1`,
    [chain, sender, nonce],
  );
  return rows[0] && { raw: toHex(rows[0].raw) };
}

export async function settle(
  db: Queryable,
  id: string,
  end: { state: 'confirmed' | 'failed'; hash: Hex; blockNumber: bigint; gasCost: bigint; reason: string | null },
): Promise<void> {
  await db.query(
    `UPDATE key_transactions SET state = $2, mined_hash = $3, block_number = $4, gas_cost = $5, reason = $6
      WHERE id = $1 AND state = 'pending'`,
    [id, end.state, end.hash, end.blockNumber, end.gasCost, end.reason],
  );
}

/** The row stays locked until the commit, so nonces are given out without a gap: a signature that fails gives its back. */
async function drawNonce(
  tx: Transaction,
  chain: ChainId,
  sender: Hex,
  firstNonce: number | undefined,
): Promise<number> {
  if (firstNonce !== undefined) {
    await tx.query('INSERT INTO key_nonces (chain, sender, next) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING', [
      chain,
      sender,
      firstNonce,
    ]);
  }
  return Number(
    onlyRow(
      await tx.query<{ drawn: bigint }>(
        'UPDATE key_nonces SET next = next + 1 WHERE chain = $1 AND sender = $2 RETURNING next - 1 AS drawn',
        [chain, sender],
      ),
    ).drawn,
  );
}

async function keepAttempt(
  tx: Transaction,
  {
    id,
    chain,
    nonce,
    to,
    data,
    value,
    gasLimit,
    account,
    fees,
  }: NewKeyTransaction & Signing & { readonly nonce: number },
): Promise<void> {
  const raw = await account.signTransaction({
    type: 'eip1559',
    chainId: chains[chain].chainId,
    nonce,
    to,
    data,
    value,
    gas: gasLimit,
    maxFeePerGas: fees.maxFee,
    maxPriorityFeePerGas: fees.priorityFee,
  });
  await tx.query(
    'INSERT INTO key_transaction_attempts (hash, transaction_id, raw, max_fee, priority_fee) VALUES ($1, $2, $3, $4, $5)',
    [keccak256(raw), id, toBytes(raw), fees.maxFee, fees.priorityFee],
  );
}

const columns =
  'id, chain, sender, provider_ref, nonce, recipient, data, value, gas_limit, state, mined_hash, block_number, gas_cost, reason';
const select = `SELECT ${columns} FROM key_transactions`;

interface TransactionRow {
  readonly id: string;
  readonly chain: ChainId;
  readonly sender: Hex;
  readonly provider_ref: string;
  readonly nonce: bigint | null;
  readonly recipient: Hex;
  readonly data: Buffer;
  readonly value: string;
  readonly gas_limit: bigint | null;
  readonly state: KeyTransaction['state'];
  readonly mined_hash: Hex | null;
  readonly block_number: bigint | null;
  readonly gas_cost: string | null;
  readonly reason: string | null;
}

interface AttemptRow {
  readonly hash: Hex;
  readonly raw: Buffer;
  readonly max_fee: string;
  readonly priority_fee: string;
  readonly age_ms: string;
}

function toTransaction(row: TransactionRow): KeyTransaction {
  return {
    id: row.id,
    chain: row.chain,
    sender: row.sender,
    walletRef: row.provider_ref,
    nonce: row.nonce === null ? null : Number(row.nonce),
    to: row.recipient,
    data: toHex(row.data),
    value: BigInt(row.value),
    gasLimit: row.gas_limit,
    state: row.state,
    minedHash: row.mined_hash,
    blockNumber: row.block_number,
    gasCost: row.gas_cost === null ? null : BigInt(row.gas_cost),
    reason: row.reason,
  };
}

function toBytes(hex: Hex): Buffer {
  return Buffer.from(hex.slice(2), 'hex');
}

function toHex(bytes: Buffer): Hex {
  return `0x${bytes.toString('hex')}`;
}
