import type { PublicClient } from 'viem';
import { fateOf, readUsed } from '../../chains/authorization.ts';
import { doNodesAgree } from '../../chains/find-receipt.ts';
import { findUse, type Use } from '../../chains/find-use.ts';
import { advanceSaga } from '../../custody/steps/advance-saga.ts';
import { findCursor } from '../../custody/watch/chain-cursor.ts';
import { isOnChain } from '../../custody/watch/reorg.ts';
import { noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import { handleSaga, type SagaHandler, type SagaStep } from '../../kernel/sagas/run-saga.ts';
import { houseAccount } from '../../ledger/account-id.ts';
import { add } from '../../money/amount.ts';
import { keptFee } from './fee.ts';
import { giveBackLapsed } from './give-back.ts';
import {
  findPayer,
  findPurchase,
  forgetRequest,
  homeUsdc,
  type Purchase,
  type PurchaseParts,
  payStep,
} from './purchase.ts';
import { purchaseSaga } from './saga.ts';
import { namedTransaction, sendAgain, sendPayment, signPayment } from './send-payment.ts';

/** Most sellers settle within the request. After this time the chain is polled less often. */
const promptMs = 60_000;
const patience = 5;

/**
 * Settling: the token itself tells whether the authorization was used, as of the last block that the watcher has read, which is final. The
 * account pays exactly what has left the wallet, no matter what the seller answered.
 */
async function settlePurchase(parts: PurchaseParts, purchase: Purchase): Promise<SagaStep> {
  const { db, networks, checkpoint = noCheckpoint } = parts;
  const { network, token } = homeUsdc(networks);
  const { client, pollMs } = network;
  const cursor = await findCursor(db, network.id);
  if (cursor === undefined || !(await isOnChain(client, cursor))) {
    return { lookAgainInMs: pollMs, waitsFor: 'the chain to be read' };
  }
  const { nonce, validBefore, fromBlock } = purchase;
  const authorization = { from: (await findPayer(db, purchase)).address, nonce, validBefore };
  const [{ timestamp: blockTime }, [used]] = await Promise.all([
    client.getBlock({ blockNumber: cursor.number }),
    readUsed(network, token.address, [authorization], cursor.number),
  ]);
  const fate = fateOf(authorization, { used: used === true, blockTime });
  if (fate === 'open') {
    await network.letTimePass(validBefore);
    const isPrompt = Date.now() - purchase.createdAt.getTime() < promptMs;
    return {
      lookAgainInMs: isPrompt ? pollMs : pollMs * patience,
      waitsFor: 'the seller to take the payment, or the authorization to expire',
    };
  }
  if (fate === 'lapsed') {
    // Both must hold: an unused authorization that has not expired can still be taken.
    const hasLapsed = async (alone: PublicClient) => {
      const [{ hash, timestamp }, [usedThere]] = await Promise.all([
        alone.getBlock({ blockNumber: cursor.number }),
        readUsed({ ...network, client: alone }, token.address, [authorization], cursor.number),
      ]);
      const at = { used: usedThere !== false, blockTime: timestamp };
      return hash === cursor.hash && fateOf(authorization, at) === 'lapsed';
    };
    if (!(await doNodesAgree(network, hasLapsed))) {
      return {
        lookAgainInMs: pollMs,
        waitsFor: 'a second node to confirm that the payment was not taken',
        isTrouble: true,
      };
    }
    await giveBackLapsed(parts, purchase);
    return 'rest';
  }
  const range = { from: fromBlock, to: cursor.number, hint: namedTransaction(purchase) };
  const use = await findUse(network, token, authorization, range);
  if (use === undefined) {
    // This node lags behind the others: the token has already reported the use.
    return { lookAgainInMs: pollMs, waitsFor: 'the transaction that took the payment to be found', isTrouble: true };
  }
  await complete(parts, purchase, use);
  checkpoint('purchase.paid');
  return 'rest';
}

/** The tokens have left the chain, so they leave the books too. The seller has paid the gas. */
async function complete({ db, ledger }: PurchaseParts, purchase: Purchase, { hash, blockNumber }: Use): Promise<void> {
  const { id, accountId, amount, payTo } = purchase;
  await db.transaction((tx) =>
    advanceSaga(tx, ledger, purchaseSaga, {
      id,
      from: 'settling',
      to: 'paid',
      set: { txHash: hash },
      alongside: () => forgetRequest(tx, id),
      settle: [{ ...payStep(id), end: { state: 'confirmed', hash, blockNumber, gasCost: 0n } }],
      post: async () => {
        const fee = await keptFee(tx, purchase);
        return [
          {
            type: 'purchase_paid',
            amount,
            fee,
            entries: [
              { account: houseAccount('nano_in_transit', amount.asset), atomic: -add(amount, fee).atomic },
              { account: houseAccount('custody', amount.asset), atomic: amount.atomic },
              { account: houseAccount('fees', amount.asset), atomic: fee.atomic },
            ],
            reference: `purchase:${id}:end`,
            details: { purchaseId: id, payTo, txHash: hash },
            senderId: accountId,
            senderEvent: 'purchase.paid',
          },
        ];
      },
    }),
  );
}

export function purchaseHandler(parts: PurchaseParts): SagaHandler {
  return handleSaga(purchaseSaga, (id) => findPurchase(parts.db, id), {
    held: (purchase) => signPayment(parts, purchase),
    signed: async (purchase) => (await sendPayment(parts, purchase)).step,
    sending: (purchase) => sendAgain(parts, purchase),
    settling: (purchase) => settlePurchase(parts, purchase),
  });
}
