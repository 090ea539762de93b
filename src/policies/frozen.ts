import { isKeyFrozen } from '../accounts/keys/place.ts';
import { hasUnexplainedTransactions } from '../custody/steps/unknown-calls.ts';
import type { Queryable, Transaction } from '../kernel/db/database.ts';
import type { ChainId } from '../money/catalogue.ts';

/** What the owner of a saga is told that a freeze has stopped. */
export const keyFrozen = 'The key that asked for it was frozen.';

/** A freeze has stopped a saga before its next step. */
export class KeyFrozen extends Error {
  override readonly name = 'KeyFrozen';

  constructor() {
    super(keyFrozen);
  }
}

/** Whether a key, or one above it, is frozen now. */
async function isFrozen(db: Queryable, keyId: string | null): Promise<boolean> {
  if (keyId === null) return false;
  const { rowCount } = await db.query(`SELECT FROM api_keys k WHERE k.id = $1 AND ${isKeyFrozen}`, [keyId]);
  return rowCount !== 0;
}

/**
 * Throws KeyFrozen. Otherwise the key stays unfrozen until the commit: a freeze locks the owner's row, so it either waits
 * for this transaction or is seen here.
 */
export async function requireUnfrozenKey(tx: Transaction, keyId: string | null): Promise<void> {
  if (keyId === null) return;
  await tx.query('SELECT FROM accounts WHERE id = (SELECT account_id FROM api_keys WHERE id = $1) FOR SHARE', [keyId]);
  if (await isFrozen(tx, keyId)) throw new KeyFrozen();
}

interface Stoppable {
  readonly id: string;
  readonly keyId: string | null;
}

/**
 * For the commit before a wallet provider is asked for a step. A step that it was asked for before goes on to its end, whatever
 * was frozen since. After a restore from a backup such a step may look new: until the operator has explained what our wallets
 * sent, it is neither sent nor given up.
 */
export async function requireUnfrozenStep(
  tx: Transaction,
  { id, keyId }: Stoppable,
  { step, chain }: { readonly step: string; readonly chain: ChainId },
): Promise<void> {
  if (keyId === null) return;
  const { rowCount } = await tx.query("SELECT FROM chain_steps WHERE saga_id = $1 AND step = $2 AND state <> 'ready'", [
    id,
    step,
  ]);
  if (rowCount !== 0) return;
  try {
    await requireUnfrozenKey(tx, keyId);
  } catch (error) {
    if (error instanceof KeyFrozen) await requireExplained(tx, { id, chain });
    throw error;
  }
}

/** For a step that `requireUnfrozenStep` has stopped. */
export function stoppedByFreeze(error: unknown): 'stopped' {
  if (error instanceof KeyFrozen) return 'stopped';
  throw error;
}

/** Whether a saga whose next step was not asked for has to stop. */
export async function isStopped(
  db: Queryable,
  { id, keyId }: Stoppable,
  { chain }: { readonly chain: ChainId },
): Promise<boolean> {
  if (!(await isFrozen(db, keyId))) return false;
  await requireExplained(db, { id, chain });
  return true;
}

async function requireExplained(
  db: Queryable,
  { id, chain }: { readonly id: string; readonly chain: ChainId },
): Promise<void> {
  if (!(await hasUnexplainedTransactions(db, { chain }))) return;
  throw new Error(`the key of ${id} is frozen, and it is not certain whether ${id} was sent before`);
}
