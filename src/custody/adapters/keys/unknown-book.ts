import type { Hex } from 'viem';
import { type Database, onlyRow, type Queryable, type Transaction } from '../../../kernel/db/database.ts';
import { Refusal } from '../../../kernel/refusal.ts';
import type { ChainId } from '../../../money/catalogue.ts';
import type { HeldWallet, UnknownTransaction } from '../../wallets/provider.ts';
import type { SentTransaction } from './find-sent.ts';
import { type NewKeyTransaction, toBytes, toHex } from './key-transaction.ts';

/** An unknown transaction may have been this one, so it is not signed until the operator has decided. */
export class PossiblyPaid extends Error {
  override readonly name = 'PerhapsPaid';
  readonly unknownId: bigint;
  readonly hash: Hex | null;

  constructor(unknownId: bigint, hash: Hex | null, nonce: bigint) {
    const which = hash === null ? `the transaction with nonce ${nonce}` : `transaction ${hash}`;
    super(`${which} is not in this database and may have been this payment: see "paywright treasury unknown"`);
    this.unknownId = unknownId;
    this.hash = hash;
  }
}

/** The selector of ERC-20 `transfer`, whose call data contains recipient and amount. */
const transferSelector = toBytes('0xa9059cbb');

/**
 * Throws PossiblyPaid when the wallet has sent a matching transaction that this database does not know. A token transfer
 * matches only exactly. Any other call may contain values from after the backup (a deadline, a price), so the same
 * function of the same contract matches, and so does native coin to the same recipient.
 */
export async function refusePossiblyPaid(
  tx: Transaction,
  { chain, sender, to, data }: Pick<NewKeyTransaction, 'chain' | 'sender' | 'to' | 'data'>,
): Promise<void> {
  const { rows } = await tx.query<{ id: bigint; hash: Hex | null; nonce: bigint }>(
    `SELECT id, hash, nonce FROM unknown_transactions
      WHERE chain = $1 AND sender = $2 AND decided_at IS NULL AND (hash IS NULL OR lower(recipient) = lower($3) AND
        CASE WHEN substring(data FROM 1 FOR 4) = $5 THEN data = $4
             ELSE substring(data FROM 1 FOR 4) = substring($4::bytea FROM 1 FOR 4) END)
      ORDER BY nonce LIMIT 1`,
    [chain, sender, to, toBytes(data), transferSelector],
  );
  const [alike] = rows;
  if (alike !== undefined) throw new PossiblyPaid(alike.id, alike.hash, alike.nonce);
}

/**
 * Records what a wallet sent with a nonce that was not given out here. A reverted transaction paid nothing, and a sweep
 * known from the chain paid nothing that is still to be paid.
 */
export async function keepUnknown(
  tx: Transaction,
  { chain, sender, nonce }: { readonly chain: ChainId; readonly sender: Hex; readonly nonce: number },
  sent: SentTransaction | undefined,
): Promise<void> {
  await tx.query(
    `INSERT INTO unknown_transactions (chain, sender, nonce, hash, recipient, data, value, gas_limit, max_fee, priority_fee,
        block_number, raw, decision, decided_at)
     SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, d.decision, CASE WHEN d.decision IS NOT NULL THEN now() END
       FROM (SELECT coalesce($13::text, (SELECT 'unrelated' FROM forgotten_sweeps WHERE chain = $1 AND tx_hash = $4 LIMIT 1))) d (decision)
     ON CONFLICT (chain, sender, nonce) DO NOTHING`,
    [
      chain,
      sender,
      nonce,
      sent?.hash ?? null,
      sent?.to ?? null,
      sent === undefined ? null : toBytes(sent.data),
      sent?.value ?? null,
      sent?.gasLimit ?? null,
      sent?.maxFee ?? null,
      sent?.priorityFee ?? null,
      sent?.blockNumber ?? null,
      sent === undefined ? null : toBytes(sent.raw),
      sent?.wasUndone === true ? 'undone' : null,
    ],
  );
}

/** Shows the operator what waits for the decision, and lets it be chosen. */
export async function noteHeld(db: Queryable, unknownId: bigint, wanted: NewKeyTransaction): Promise<void> {
  const { id, chain, sender, walletRef, to, data, value } = wanted;
  await db.query(
    `INSERT INTO held_key_transactions (id, unknown_id, chain, sender, provider_ref, recipient, data, value)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
     ON CONFLICT (id) DO UPDATE SET unknown_id = excluded.unknown_id`,
    [id, unknownId, chain, sender, walletRef, to, toBytes(data), value],
  );
}

export async function hasOpenUnknown(
  db: Queryable,
  { chain, address }: Pick<HeldWallet, 'chain' | 'address'>,
): Promise<boolean> {
  const { rows } = await db.query(
    'SELECT FROM unknown_transactions WHERE chain = $1 AND sender = $2 AND decided_at IS NULL LIMIT 1',
    [chain, address],
  );
  return rows.length > 0;
}

export async function listUnknown(db: Queryable): Promise<readonly UnknownTransaction[]> {
  const { rows } = await db.query<UnknownRow>(
    `SELECT id, chain, sender, nonce::float8, hash, recipient AS to, data, value,
            ARRAY(SELECT h.id::text FROM held_key_transactions h WHERE h.unknown_id = u.id ORDER BY h.held_at) AS holds
       FROM unknown_transactions u WHERE decided_at IS NULL ORDER BY id LIMIT 1000`,
  );
  return rows.map(({ hash, to, data, value, ...row }) => ({
    ...row,
    sent:
      hash === null || to === null || data === null || value === null
        ? undefined
        : { hash, to, data: toHex(data), value },
  }));
}

/** From now on it counts as the held transaction, as if signed here: it is followed, and never signed again. */
export async function adoptUnknown(
  db: Database,
  unknownId: bigint,
  key: string,
  unsignedOf?: Pick<HeldWallet, 'ref'>,
): Promise<void> {
  await db.transaction(async (tx) => {
    await decide(tx, unknownId, 'paid');
    if (unsignedOf !== undefined) {
      await tx.query(
        `INSERT INTO held_key_transactions (id, unknown_id, chain, sender, provider_ref, recipient, data, value)
         SELECT $2, id, chain, sender, $3, recipient, data, value FROM unknown_transactions WHERE id = $1 AND hash IS NOT NULL
         ON CONFLICT (id) DO NOTHING`,
        [unknownId, key, unsignedOf.ref],
      );
    }
    const { rowCount } = await tx.query(
      `INSERT INTO key_transactions (id, chain, sender, provider_ref, nonce, recipient, data, value, gas_limit, state)
       SELECT h.id, u.chain, u.sender, h.provider_ref, u.nonce, h.recipient, h.data, h.value, u.gas_limit, 'pending'
         FROM unknown_transactions u JOIN held_key_transactions h ON h.chain = u.chain AND h.sender = u.sender
        WHERE u.id = $1 AND h.id = $2 AND u.raw IS NOT NULL AND lower(u.recipient) = lower(h.recipient) AND u.data = h.data
          AND u.value = h.value`,
      [unknownId, key],
    );
    if (rowCount === 0) throw new Refusal('The transaction does not match: its recipient or its content differs.');
    await tx.query(
      `INSERT INTO key_transaction_attempts (hash, transaction_id, raw, max_fee, priority_fee)
       SELECT hash, $2, raw, max_fee, priority_fee FROM unknown_transactions WHERE id = $1`,
      [unknownId, key],
    );
    await tx.query('DELETE FROM held_key_transactions WHERE unknown_id = $1 OR id = $2', [unknownId, key]);
  });
}

/** The held transactions are tried again, and continue unless another one matches. */
export async function dismissUnknown(db: Database, unknownId: bigint): Promise<void> {
  await db.transaction(async (tx) => {
    await decide(tx, unknownId, 'unrelated');
    await tx.query('DELETE FROM held_key_transactions WHERE unknown_id = $1', [unknownId]);
  });
}

async function decide(tx: Transaction, unknownId: bigint, decision: 'paid' | 'unrelated'): Promise<void> {
  const known = await tx.query<{ chain: ChainId; sender: Hex }>(
    'SELECT chain, sender FROM unknown_transactions WHERE id = $1',
    [unknownId],
  );
  if (known.rows.length === 0) throw new Refusal(`There is no unknown transaction ${unknownId}.`);
  const { chain, sender } = onlyRow(known);
  // A concurrent signer for this wallet either sees the decision or has finished.
  await tx.query('SELECT FROM key_nonces WHERE chain = $1 AND sender = $2 FOR UPDATE', [chain, sender]);
  const { rowCount } = await tx.query(
    'UPDATE unknown_transactions SET decision = $2, decided_at = now() WHERE id = $1 AND decided_at IS NULL',
    [unknownId, decision],
  );
  if (rowCount === 0) throw new Refusal(`Transaction ${unknownId} is already explained.`);
}

interface UnknownRow extends Omit<UnknownTransaction, 'sent'> {
  readonly hash: Hex | null;
  readonly to: Hex | null;
  readonly data: Buffer | null;
  readonly value: bigint | null;
}
