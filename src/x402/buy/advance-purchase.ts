import { handleSaga, type SagaHandler } from '../../kernel/sagas/run-saga.ts';
import type { PurchaseParts } from './parts.ts';
import { findPurchase } from './purchase.ts';
import { purchaseSaga } from './saga.ts';
import { sendAgain, sendPayment } from './send-payment.ts';
import { settlePurchase } from './settle-purchase.ts';
import { signPayment } from './sign-payment.ts';

export function purchaseHandler(parts: PurchaseParts): SagaHandler {
  return handleSaga(purchaseSaga, (id) => findPurchase(parts.db, id), {
    held: (purchase) => signPayment(parts, purchase),
    signed: async (purchase) => (await sendPayment(parts, purchase)).step,
    sending: (purchase) => sendAgain(parts, purchase),
    settling: (purchase) => settlePurchase(parts, purchase),
  });
}
