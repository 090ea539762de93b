import { setTimeout as sleep } from 'node:timers/promises';
import type { SilentChains } from '../../chains/network.ts';
import type { Screening } from '../../custody/limits/allow-list.ts';
import { refuseSilent } from '../../custody/wallets/errors.ts';
import { listHouseWallets } from '../../custody/wallets/house-wallets.ts';
import { ok } from '../../kernel/http/define-route.ts';
import { httpErrors } from '../../kernel/http/errors.ts';
import { parseQuery } from '../../kernel/http/parse-query.ts';
import { Problem } from '../../kernel/http/problem.ts';
import { OutgoingError } from '../../kernel/outgoing/outgoing.ts';
import type { RateLimiter } from '../../kernel/rate-limit/limiter.ts';
import { Ended, noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import { balanceErrors, postingRefusal, requirePosted } from '../../ledger/balance-errors.ts';
import { spendableBalances } from '../../ledger/balances.ts';
import { keyDigest } from '../../ledger/encode-batch.ts';
import { findKey, keepAnswer, type RunOnce } from '../../ledger/idempotency.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Authority } from '../../ledger/posting.ts';
import { type Amount, toJsonNumber } from '../../money/amount.ts';
import { homeChain } from '../../money/catalogue.ts';
import { findExceeded, listBudgets } from '../../policies/budget-states.ts';
import type { Call, CallParts } from '../sell/calls.ts';
import { chargePosting } from '../sell/charge-balance.ts';
import { readInput } from '../sell/routes.ts';
import { runCall } from '../sell/sale.ts';
import { askSeller, type SellerAnswer } from './ask-seller.ts';
import { chooseOffer, describeOffers, type Offer, readDemand } from './choose-offer.ts';
import { createFreeCalls } from './count-free.ts';
import { purchaseErrors } from './errors.ts';
import { giveBackUnshown } from './give-back.ts';
import { shortenToKeep } from './keep-answer.ts';
import { type OpeningParts, openPurchase } from './open-purchase.ts';
import { findPurchase, findPurchaseByKey, homeUsdc, isAnswered, type Purchase } from './purchase.ts';
import { answerOf, describeFree, type PayResponse } from './response.ts';
import { type Buying, refuseAbove } from './seller-request.ts';
import { sendPayment, signPayment } from './send-payment.ts';
import { readCall } from './way.ts';

interface OwnCallParts {
  readonly once: RunOnce;
  readonly ledger: Ledger;
  readonly calls: CallParts;
}

/**
 * Calls our own paid endpoint directly and charges the balance, as with the caller's own key: no payment, no chain, no
 * HTTP request. The work comes before the charge, so that a failed call costs nothing.
 */
async function callOwn(
  parts: OwnCallParts,
  { caller, ip, idempotency, request }: Buying,
  { call, authority }: { readonly call: Call; readonly authority: Authority },
): Promise<PayResponse> {
  const url = new URL(request.url);
  const input = readInput(parts.calls, call, parseQuery(url.pathname + url.search));
  const body = await runCall(parts.calls, { call, input, caller, ip });
  const { body: answer } = await parts.once({ caller, idempotency, kind: 'purchases' }, async (tx) => {
    const charge = chargePosting({ caller, authority, amount: call.price, resource: call.summary });
    const [posted] = await parts.ledger.postWithin(tx, [charge]);
    if (posted === undefined) throw new Error('the ledger gave no outcome');
    requirePosted(posted, 'a call of our own');
    if (!('posting' in posted)) throw new Error('a call of our own was not charged');
    const paid = toJsonNumber(call.price);
    return ok<PayResponse>({
      status: 200,
      headers: { 'content-type': 'application/json; charset=utf-8' },
      body: JSON.stringify(body),
      encoding: 'utf8',
      truncated: false,
      paid,
      payment: {
        id: posted.posting.id,
        amount: paid,
        fee: 0,
        currency: 'USDC',
        network: null,
        payTo: null,
        nonce: null,
        transaction: null,
        receipt: null,
        statusUrl: null,
      },
    });
  });
  return answer;
}

export interface BuyParts extends OpeningParts, OwnCallParts {
  readonly limiter: RateLimiter;
  readonly silentChains: SilentChains;
  readonly screening: Screening;
  readonly publicUrl: () => string;
}

export interface Bought {
  readonly answer: PayResponse;
  readonly replayed: boolean;
}

/**
 * Asks the seller for its price, accepts or refuses it, and pays. The price is held and recorded first, then signed,
 * then shown to the seller. The saga settles the money later; the caller gets the seller's answer now.
 */
export async function buy(parts: BuyParts, buying: Buying): Promise<Bought> {
  const { checkpoint = noCheckpoint } = parts;
  const earlier = await findEarlier(parts, buying);
  if (earlier !== undefined) return { answer: earlier, replayed: true };
  const { payment, own } = readCall(parts, buying.request, buying.maximum);
  const authority = await parts.consent.forPayment(buying.caller, payment);
  if (own !== undefined) return { answer: await callOwn(parts, buying, { call: own, authority }), replayed: false };
  await refuseUnfunded(parts, buying, authority);
  const asked = await askPrice(parts, buying);
  if (asked.status !== 402) return { answer: await keepFree(parts, buying, asked), replayed: false };
  const offer = await acceptOffer(parts, asked, buying.maximum);
  const id = await openPurchase(parts, { ...buying, offer });
  if (id === undefined) return buy(parts, buying);
  checkpoint('purchase.opened');
  return { answer: await pay(parts, id), replayed: false };
}

async function findEarlier(
  parts: BuyParts,
  { caller, idempotency }: Pick<Buying, 'caller' | 'idempotency'>,
): Promise<PayResponse | undefined> {
  if (idempotency === undefined) return undefined;
  const scope = { accountId: caller.accountId, ...idempotency };
  const found = await findKey(parts.db, scope);
  if (found.holder === 'another') throw httpErrors.idempotency_mismatch();
  if (found.holder === 'nobody') return undefined;
  if (found.answer !== undefined) return found.answer.body as PayResponse;
  const purchase = await findPurchaseByKey(parts.db, keyDigest(scope));
  // The purchase failed between the two queries, so the key is free again.
  if (purchase === undefined) return undefined;
  return awaitAnswer(parts, purchase.id);
}

/** The first request carries no payment and nothing about the caller. Free answers and failures are counted. */
async function askPrice(parts: BuyParts, { caller, request }: Buying): Promise<SellerAnswer> {
  const freeCalls = createFreeCalls(parts.limiter, caller.accountId, request.url);
  await freeCalls.refuseFull();
  try {
    const answer = await askSeller(parts.outgoing, request, parts);
    if (answer.status >= 500) await freeCalls.countFailure();
    else if (answer.status !== 402) await freeCalls.countFree();
    return answer;
  } catch (error) {
    if (!(error instanceof OutgoingError)) throw error;
    await freeCalls.countFailure();
    const { code, message } = error;
    if (code === 'refused') throw purchaseErrors.seller_url_refused(message);
    if (code === 'timeout') throw purchaseErrors.seller_timeout(`${message} Nothing was paid.`);
    throw purchaseErrors.seller_unreachable(`${message} Nothing was paid.`);
  }
}

/** Without this check, accounts without money could use us as a free proxy. A budget is reported before the balance. */
async function refuseUnfunded({ db }: BuyParts, { caller, maximum }: Buying, authority: Authority): Promise<void> {
  const { spends, decision } = authority;
  const { USDC } = await spendableBalances(db, caller.accountId);
  if (USDC.atomic < maximum.atomic) {
    const exceeded = spends.length === 0 ? [] : findExceeded(await listBudgets(db, caller), spends);
    if (exceeded.length > 0) throw postingRefusal({ outcome: 'budget_exceeded', exceeded, decision }, 'a call');
    throw balanceErrors.insufficient_balance(
      'The balance is less than maxAmount. Nothing was asked of the seller, and nothing was paid.',
    );
  }
}

/** Keeps a shortened answer for replays. A concurrent request with the same key keeps its own. */
async function keepFree({ db }: BuyParts, { caller, idempotency }: Buying, answer: SellerAnswer): Promise<PayResponse> {
  if (idempotency !== undefined) {
    const { accountId } = caller;
    await db.transaction(async (tx) => {
      const body = describeFree(await shortenToKeep(tx, accountId, answer));
      await keepAnswer(tx, { accountId, ...idempotency }, { status: 200, body });
    });
  }
  return describeFree(answer);
}

async function acceptOffer(parts: BuyParts, asked: SellerAnswer, maximum: Amount): Promise<Offer> {
  const { db, networks, silentChains, screening, float } = parts;
  const demand = await readDemand(parts.parser, asked);
  if (demand === undefined) throw purchaseErrors.terms_unreadable();
  const house = new Set((await listHouseWallets(db)).map(({ address }) => address.toLowerCase()));
  const offer = chooseOffer(demand, { token: homeUsdc(networks).token.address, house });
  if (offer === undefined) {
    throw purchaseErrors.terms_unpayable(undefined, { members: { accepts: describeOffers(demand) } });
  }
  refuseAbove(maximum, offer.price);
  // Only the chain shows whether the seller took the payment.
  await refuseSilent(silentChains, homeChain);
  if (offer.price.atomic > float.atomic) {
    const price = { price: toJsonNumber(offer.price), currency: offer.price.asset };
    throw purchaseErrors.price_above_float(undefined, { members: { ...price, mostAmount: toJsonNumber(float) } });
  }
  const verdict = await screening.check({ chain: homeChain, address: offer.payTo });
  if (!verdict.clear) throw purchaseErrors.seller_denied();
  return offer;
}

/** Signs and sends like the saga. If another process is already doing so, waits for its answer. */
async function pay(parts: BuyParts, id: string): Promise<PayResponse> {
  let whole: SellerAnswer | undefined;
  for (;;) {
    const purchase = await look(parts, id);
    if (purchase.status === 'held') await signOrGiveBack(parts, purchase);
    else if (purchase.status === 'signed') whole = (await sendPayment(parts, purchase)).answer;
    else return awaitAnswer(parts, id, whole);
  }
}

/** If signing fails, the money goes back at once, because the seller has seen nothing yet. */
async function signOrGiveBack(parts: BuyParts, purchase: Purchase): Promise<void> {
  try {
    await signPayment(parts, purchase);
  } catch (err) {
    if (err instanceof Ended) throw err;
    parts.logger.error({ err, purchase: purchase.id }, 'a payment to a seller could not be signed');
    await giveBackUnshown(parts, purchase, 'The payment could not be signed.');
  }
}

const lookEveryMs = 100;

/**
 * Waits until there is an answer or a failure, at most for the seller's timeout. An answer received by this process is
 * returned whole, even if only a part of it is kept.
 */
async function awaitAnswer(parts: BuyParts, id: string, whole?: SellerAnswer): Promise<PayResponse> {
  const until = Date.now() + parts.timeoutMs;
  for (;;) {
    const purchase = await look(parts, id);
    if (isAnswered(purchase)) {
      const answer = await answerOf(parts.db, purchase, { publicUrl: parts.publicUrl(), whole });
      if (answer instanceof Problem) throw answer;
      return answer;
    }
    if (purchase.status === 'returned') throw purchaseErrors.payment_not_made();
    if (Date.now() > until) throw httpErrors.idempotency_in_progress(undefined, { headers: { 'Retry-After': '5' } });
    await sleep(lookEveryMs);
  }
}

async function look({ db }: BuyParts, id: string): Promise<Purchase> {
  const purchase = await findPurchase(db, id);
  if (purchase === undefined) throw new Error(`there is no purchase ${id}`);
  return purchase;
}
