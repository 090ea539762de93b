import { type Hex, keccak256 } from 'viem';
import type { HDAccount } from 'viem/accounts';
import type { GasFees } from '../../../chains/gas-fee-ceiling.ts';
import { type Database, onlyRow, type Queryable, type Transaction } from '../../../kernel/db/database.ts';
import { lockUntilCommit } from '../../../kernel/db/locks.ts';
import { type ChainId, chains } from '../../../money/catalogue.ts';
import { ProviderError } from '../../wallets/provider.ts';
import { type KeyTransaction, type NewKeyTransaction, toBytes, toHex } from './key-transaction.ts';
import { refusePossiblyPaid } from './unknown-book.ts';

/** One signature of a transaction. All attempts share its nonce, so at most one is mined. */
export interface Attempt extends GasFees {
  readonly hash: Hex;
  readonly raw: Hex;
  readonly ageMs: number;
}

export async function findTransaction(db: Queryable, id: string): Promise<KeyTransaction | undefined> {
  const { rows } = await db.query<TransactionRow>(`${select} WHERE id = $1`, [id]);
  return rows[0] && toTransaction(rows[0]);
}

export interface Signing {
  readonly account: HDAccount;
  readonly fees: GasFees;
  readonly gasLimit: bigint;
}

/**
 * Takes the sender's next nonce, signs, and stores both in one commit: a nonce always belongs to one signed
 * transaction. A refusal is stored as well. Concurrent calls with one id get the same result. `used` is the number of
 * nonces that the chain has used: throws ChainIsAhead when that exceeds those given out here, and PossiblyPaid when an
 * unknown transaction may have been this one.
 */
export async function signAndKeep(
  db: Database,
  transaction: NewKeyTransaction,
  signing: Signing | ProviderError,
  used: number,
): Promise<KeyTransaction> {
  const { id, chain, sender, walletRef, to, data, value } = transaction;
  return db.transaction(async (tx) => {
    await lockUntilCommit(tx, { kind: 'keyTransaction', of: id });
    const earlier = await findTransaction(tx, id);
    if (earlier !== undefined) return earlier;
    const next = await lockNonces(tx, chain, sender);
    // Checked before a refusal too: what cannot be paid now may have been paid already.
    if (used > next) throw new ChainIsAhead(next, used);
    await refusePossiblyPaid(tx, transaction);
    const refused = signing instanceof ProviderError;
    if (refused && signing.retryable) throw signing;
    const nonce = refused ? null : await drawNonce(tx, chain, sender);
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

/** The chain has used nonces that were never given out here: this database is older than the chain. */
export class ChainIsAhead extends Error {
  override readonly name = 'ChainIsAhead';
  /** From the first such nonce up to, but not including, `to`. */
  readonly from: number;
  readonly to: number;

  constructor(from: number, to: number) {
    super(`the chain has used the nonces ${from} to ${to - 1}, which were never drawn here`);
    this.from = from;
    this.to = to;
  }
}

/** Returns a wallet's next nonce and locks it until the commit. Every wallet starts with 0. */
export async function lockNonces(tx: Transaction, chain: ChainId, sender: Hex): Promise<number> {
  await tx.query('INSERT INTO key_nonces (chain, sender, next) VALUES ($1, $2, 0) ON CONFLICT DO NOTHING', [
    chain,
    sender,
  ]);
  const { next } = onlyRow(
    await tx.query<{ next: number }>(
      'SELECT next::float8 FROM key_nonces WHERE chain = $1 AND sender = $2 FOR UPDATE',
      [chain, sender],
    ),
  );
  return next;
}

/** Signs the transaction again with other fees, unless another process has just done so. */
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
  const { rows } = await db.query<Omit<Attempt, 'raw'> & { readonly raw: Buffer }>(
    `SELECT hash, raw, max_fee, priority_fee, extract(epoch FROM now() - signed_at)::float8 * 1000 AS age_ms
       FROM key_transaction_attempts WHERE transaction_id = $1 ORDER BY max_fee DESC`,
    [id],
  );
  return rows.map((row) => ({ ...row, raw: toHex(row.raw) }));
}

/** The newest signature of the wallet's transaction with this nonce, in any state. */
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

/** The row lock lasts until the commit, so nonces have no gaps: a failed signature returns its nonce. */
async function drawNonce(tx: Transaction, chain: ChainId, sender: Hex): Promise<number> {
  const { drawn } = onlyRow(
    await tx.query<{ drawn: number }>(
      'UPDATE key_nonces SET next = next + 1 WHERE chain = $1 AND sender = $2 RETURNING (next - 1)::float8 AS drawn',
      [chain, sender],
    ),
  );
  return drawn;
}

async function keepAttempt(
  tx: Transaction,
  signed: NewKeyTransaction & Signing & { readonly nonce: number },
): Promise<void> {
  const { id, chain, nonce, to, data, value, gasLimit, account, fees } = signed;
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
  await insertAttempt(tx, id, { hash: keccak256(raw), raw, ...fees });
}

/** Also for signatures made before a restore from a backup. */
export async function insertAttempt(
  tx: Queryable,
  id: string,
  { hash, raw, maxFee, priorityFee }: Omit<Attempt, 'ageMs'>,
): Promise<void> {
  await tx.query(
    `INSERT INTO key_transaction_attempts (hash, transaction_id, raw, max_fee, priority_fee) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (hash) DO NOTHING`,
    [hash, id, toBytes(raw), maxFee, priorityFee],
  );
}

/** The last known block with a transaction of a lower nonce of this wallet: later ones are in no earlier block. */
export async function lastBlockBefore(db: Queryable, chain: ChainId, sender: Hex, nonce: number): Promise<bigint> {
  const { rows } = await db.query<{ block: bigint | null }>(
    `SELECT coalesce(
       (SELECT max(block_number) FROM (
          SELECT block_number FROM key_transactions WHERE chain = $1 AND sender = $2 AND nonce < $3
          UNION ALL SELECT block_number FROM unknown_transactions WHERE chain = $1 AND sender = $2 AND nonce < $3) known),
       (SELECT min(block_number) FROM chain_checkpoints WHERE chain = $1)) AS block`,
    [chain, sender, nonce],
  );
  return rows[0]?.block ?? 0n;
}

const columns = `id, chain, sender, provider_ref AS wallet_ref, nonce::float8, recipient AS to, data, value, gas_limit, state, mined_hash,
    block_number, gas_cost, reason`;
const select = `SELECT ${columns} FROM key_transactions`;

type TransactionRow = Omit<KeyTransaction, 'data'> & { readonly data: Buffer };

function toTransaction(row: TransactionRow): KeyTransaction {
  return { ...row, data: toHex(row.data) };
}
