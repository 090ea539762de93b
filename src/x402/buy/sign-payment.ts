import type { Authorization } from '../../chains/authorization.ts';
import { readTokenDomain, toTypedData } from '../../chains/authorization.ts';
import type { HouseWallet } from '../../custody/wallets/house-wallets.ts';
import { changeState } from '../../kernel/sagas/change-state.ts';
import { noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import type { SagaStep } from '../../kernel/sagas/run-saga.ts';
import { findPayer } from './find-payer.ts';
import { giveBackLate } from './give-back-late.ts';
import { meansOf, type PurchaseParts } from './parts.ts';
import { isTooLate, type Purchase } from './purchase.ts';
import { purchaseSaga } from './saga.ts';

export function authorizationOf(
  { payTo, amount, nonce, validBefore }: Purchase,
  { address }: Pick<HouseWallet, 'address'>,
): Authorization {
  return { from: address, to: payTo, atomic: amount.atomic, nonce, validBefore };
}

/**
 * Held: the wallet signs the recorded authorization. Signing again gives the same authorization, which the token accepts only once. The
 * signature is recorded before the seller sees it.
 */
export async function signPayment(parts: PurchaseParts, purchase: Purchase): Promise<SagaStep> {
  const { db, networks, provider, checkpoint = noCheckpoint } = parts;
  if (isTooLate(purchase)) return giveBackLate(parts, purchase);
  const { network, token } = meansOf(networks);
  const payer = await findPayer(db, purchase);
  const domain = await readTokenDomain(network, token.address);
  const signature = await provider.signTypedData(payer, toTypedData(domain, authorizationOf(purchase, payer)));
  const set = { signature: signature.toLowerCase() };
  await changeState(db, purchaseSaga, { id: purchase.id, from: 'held', to: 'signed', set });
  checkpoint('purchase.signed');
  return 'go_on';
}
