import { readUsed } from '../../chains/authorization.ts';
import { noteShown } from '../../custody/steps/show-signature.ts';
import { changeState } from '../../kernel/sagas/change-state.ts';
import type { SagaStep } from '../../kernel/sagas/run-saga.ts';
import { findPayer } from './find-payer.ts';
import { giveBackUnshown } from './give-back.ts';
import { meansOf, type PurchaseParts } from './parts.ts';
import { type Purchase, payStep } from './purchase.ts';
import { purchaseSaga } from './saga.ts';

/**
 * The payment's time is over, and by our books the seller has not seen it. After a restore from a backup the seller may have taken it all the
 * same. The token tells, and then nothing is refunded.
 */
export async function giveBackLate(parts: PurchaseParts, purchase: Purchase): Promise<SagaStep> {
  const { db, networks } = parts;
  const { id, nonce, status } = purchase;
  const { network, token } = meansOf(networks);
  const from = (await findPayer(db, purchase)).address;
  // The newest block, because the watcher's cursor may be as old as the backup.
  const head = await network.client.getBlockNumber({ cacheTime: 0 });
  const [isTaken] = await readUsed(network, token.address, [{ from, nonce }], head);
  if (isTaken !== true) {
    await giveBackUnshown(parts, purchase, 'The payment could not be created in time.');
    return 'rest';
  }
  await db.transaction(async (tx) => {
    const isFirst = await changeState(tx, purchaseSaga, { id, from: status, to: 'settling' });
    if (isFirst) await noteShown(tx, payStep(id));
  });
  // The next step waits for the chain, in another lane.
  return { lookAgainInMs: 0, waitsFor: 'the chain to be read' };
}
