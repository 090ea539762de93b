import { readUsed } from '../../chains/authorization.ts';
import { lockOutgoing } from '../../custody/limits/allow-list.ts';
import { advanceSaga } from '../../custody/steps/advance-saga.ts';
import { markSignatureShown } from '../../custody/steps/plan-step.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import { changeState } from '../../kernel/sagas/change-state.ts';
import type { SagaStep } from '../../kernel/sagas/run-saga.ts';
import { houseAccount, userAccount } from '../../ledger/account-id.ts';
import { releaseKey } from '../../ledger/idempotency.ts';
import type { Posting } from '../../ledger/posting.ts';
import { add } from '../../money/amount.ts';
import { returnFees } from './fee.ts';
import { cutReturned } from './keep-answer.ts';
import { describeUrl } from './open-purchase.ts';
import {
  findPayer,
  forgetRequest,
  homeUsdc,
  type Purchase,
  type PurchaseParts,
  payStep,
  takenFor,
} from './purchase.ts';
import { purchaseSaga } from './saga.ts';

/**
 * The seller has not seen a payment and never will: the amount is refunded at once. The purchase counts as refused, so the same
 * Idempotency-Key may succeed later.
 */
export async function giveBackUnshown(parts: PurchaseParts, purchase: Purchase, reason: string): Promise<void> {
  const { db, ledger } = parts;
  const { id, accountId, keyDigest } = purchase;
  await db.transaction(async (tx) => {
    await lockOutgoing(tx, accountId);
    const isFirst = await advanceSaga(tx, ledger, purchaseSaga, {
      id,
      from: ['held', 'signed'],
      to: 'returned',
      set: { error: reason, keyDigest: null },
      alongside: () => forgetRequest(tx, id),
      drop: [payStep(id)],
      post: () => comesBack(tx, purchase, reason),
    });
    if (isFirst && keyDigest !== null) await releaseKey(tx, keyDigest);
  });
}

/** The seller has not taken the payment, and the authorization has expired. */
export async function giveBackLapsed(parts: PurchaseParts, purchase: Purchase): Promise<void> {
  const { db, ledger } = parts;
  const { id, accountId } = purchase;
  const reason = 'The seller did not take the payment in time.';
  await db.transaction(async (tx) => {
    await lockOutgoing(tx, accountId);
    await advanceSaga(tx, ledger, purchaseSaga, {
      id,
      from: 'settling',
      to: 'returned',
      set: { error: reason },
      alongside: () => forgetRequest(tx, id),
      settle: [{ ...payStep(id), end: { state: 'failed', reason, gasCost: 0n } }],
      post: async () => {
        await cutReturned(tx, id);
        return comesBack(tx, purchase, reason);
      },
    });
  });
}

/** The refund of the amount and its fee, and of fees that other purchases paid because of it. */
async function comesBack(tx: Transaction, purchase: Purchase, reason: string): Promise<Posting[]> {
  const { id, accountId, amount, url, payTo } = purchase;
  const { own, kept, others } = await returnFees(tx, purchase);
  const back = add(amount, own);
  return [
    {
      type: 'purchase_returned',
      amount: back,
      entries: [
        { account: houseAccount('nano_in_transit', amount.asset), atomic: -add(back, kept).atomic },
        { account: userAccount(accountId, amount.asset), atomic: back.atomic },
        { account: houseAccount('fees', amount.asset), atomic: kept.atomic },
      ],
      reference: `purchase:${id}:end`,
      description: describeUrl(url),
      details: { purchaseId: id, payTo, error: reason },
      returns: { of: id, part: back.atomic, whole: takenFor(purchase).atomic },
      recipientId: accountId,
      recipientEvent: 'purchase.returned',
    },
    ...others,
  ];
}

/**
 * The payment has expired or its key was frozen, and by our books the seller has not seen it. After a restore from a backup the seller
 * may have taken it anyway. The token shows that, and then nothing is refunded.
 */
export async function giveBackUnlessTaken(
  parts: PurchaseParts,
  purchase: Purchase,
  reason = 'The payment could not be created in time.',
): Promise<SagaStep> {
  const { db, networks } = parts;
  const { id, nonce, status } = purchase;
  const { network, token } = homeUsdc(networks);
  const from = (await findPayer(db, purchase)).address;
  // The newest block, because the watcher's cursor may be as old as the backup.
  const head = await network.client.getBlockNumber({ cacheTime: 0 });
  const [isTaken] = await readUsed(network, token.address, [{ from, nonce }], head);
  if (isTaken !== true) {
    await giveBackUnshown(parts, purchase, reason);
    return 'rest';
  }
  await db.transaction(async (tx) => {
    const isFirst = await changeState(tx, purchaseSaga, { id, from: status, to: 'settling' });
    if (isFirst) await markSignatureShown(tx, payStep(id));
  });
  // The next step waits for the chain, in another lane.
  return { lookAgainInMs: 0, waitsFor: 'the chain to be read' };
}
