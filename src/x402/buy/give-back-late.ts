import { readUsed } from '../../chains/authorization.ts';
import { noteShown } from '../../custody/steps/show-signature.ts';
import type { SagaStep } from '../../kernel/sagas/run-saga.ts';
import { findPayer } from './find-payer.ts';
import { giveBackUnshown } from './give-back.ts';
import { meansOf, type PurchaseParts } from './parts.ts';
import { type Purchase, payStep } from './purchase.ts';

/**
 * It is too late to show the seller a payment, and by our books nobody has. After a restore from a backup the seller may have taken
 * it all the same: the token knows, and then the amount does not go back.
 */
export async function giveBackLate(parts: PurchaseParts, purchase: Purchase): Promise<SagaStep> {
  const { db, networks } = parts;
  const { id, nonce, status } = purchase;
  const { network, token } = meansOf(networks);
  const from = (await findPayer(db, purchase)).address;
  // The newest block, because what was read may be as old as the backup.
  const head = await network.client.getBlockNumber({ cacheTime: 0 });
  const [isTaken] = await readUsed(network, token.address, [{ from, nonce }], head);
  if (isTaken !== true) {
    await giveBackUnshown(parts, purchase, 'The payment could not be created in time.');
    return 'rest';
  }
  await db.transaction(async (tx) => {
    const { rowCount } = await tx.query(
      "UPDATE purchases SET status = 'settling', updated_at = now() WHERE id = $1 AND status = $2",
      [id, status],
    );
    if (rowCount === 1) await noteShown(tx, payStep(id));
  });
  // From here on the chain is waited for, in a lane of its own.
  return { lookAgainInMs: 0, waitsFor: 'the chain to be read' };
}
