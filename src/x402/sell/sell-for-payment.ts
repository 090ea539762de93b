import { setTimeout as sleep } from 'node:timers/promises';
import { getAddress } from 'viem';
import { amountOf } from '../../money/amount.ts';
import { askChain } from './ask-chain.ts';
import { type Claim, findClaim, findClaimOf } from './claim.ts';
import { type Claimed, leaseSeconds } from './claim-payments.ts';
import { nanoErrors } from './errors.ts';
import type { Holding } from './funds.ts';
import type { SellingParts } from './parts.ts';
import type { Reason } from './reasons.ts';
import { receiptHeaders } from './receipts.ts';
import { type PaidRequest, refuse, type Sale } from './sale.ts';
import { questionOf, serveClaim } from './serve-claim.ts';
import { pending } from './settlement-pending.ts';
import { homeOfPayments } from './terms.ts';
import { verifyPayment } from './verify-payment.ts';

/** For so long at most a request waits for its payment to arrive, where that has to come first. */
const prepaidPatienceMs = 8_000;
const lookAgainMs = 150;

/**
 * Sells a call for a payment: what was answered before is answered again, whatever is true of the payment by now; else it is
 * judged, claimed and served. The same payment sent many times at once is one sale.
 */
export function createPaidSale(parts: SellingParts): (request: PaidRequest) => Promise<Sale> {
  const underWay = new Map<string, Promise<Sale>>();

  return (request) => {
    const { from, nonce, signature } = request.payment.authorization;
    const key = `${from.toLowerCase()} ${nonce} ${signature} ${request.fingerprint.toString('hex')}`;
    const same = underWay.get(key);
    if (same !== undefined) return same;
    const sale = sell(parts, request).finally(() => underWay.delete(key));
    underWay.set(key, sale);
    return sale;
  };
}

async function sell(parts: SellingParts, request: PaidRequest): Promise<Sale> {
  const { payment, count } = request;
  // Whoever has sent too much that was not worth verifying is not verified any more.
  const forgive = await count.trial();
  // Looked up first, so that a lost answer is found again even when the payment is not good for anything any more.
  if (payment.identifier !== undefined) {
    const earlier = await findEarlier(parts, request);
    if (earlier !== undefined && earlier.identifier === payment.identifier) {
      await count.address();
      if (!isFor(earlier, request)) throw nanoErrors.payment_identifier_conflict();
      const sale = await answerEarlier(parts, request, earlier);
      if (sale !== undefined) return sale;
    }
  }
  const reason = await judge(parts, request);
  if (reason !== undefined) {
    await count.address();
    const earlier = await findEarlier(parts, request);
    const sale =
      earlier !== undefined && isFor(earlier, request) ? await answerEarlier(parts, request, earlier) : undefined;
    return sale ?? refuse(parts, request, reason);
  }
  await forgive();
  await count.payer(payment.authorization.from, parts.rules.payerPerMinute);
  return claimAndServe(parts, request);
}

/**
 * The signature proves that it comes from whoever sent it the first time. A payment that has arrived for a request that failed may be
 * sent with another one of the same price.
 */
function isFor(earlier: Claim, { payment, call, fingerprint }: PaidRequest): boolean {
  if (earlier.authorization.signature !== payment.authorization.signature) return false;
  return earlier.fingerprint.equals(fingerprint) || (isSpare(earlier) && earlier.amount.atomic === call.price.atomic);
}

/** It has arrived, and nothing was or is being served for it. */
function isSpare({ arrivedAt, servedAt, leased, clearsDebt }: Claim): boolean {
  return arrivedAt !== null && servedAt === null && !leased && !clearsDebt;
}

function findEarlier({ db, till: { token } }: SellingParts, { payment }: PaidRequest): Promise<Claim | undefined> {
  const { from, nonce } = payment.authorization;
  return findClaimOf(db, { chain: homeOfPayments, token }, { from, nonce, identifier: payment.identifier });
}

/** Undefined when the payment is good, as far as the chain and the operator's list say. */
async function judge(parts: SellingParts, request: PaidRequest): Promise<Reason | undefined> {
  const { till, clock, rules, screening, facilitator } = parts;
  const { payment, call } = request;
  const { from } = payment.authorization;
  const [price, recover] = await Promise.all([till.priceOf(call.price), till.recover()]);
  const now = BigInt(Math.floor(clock.now() / 1_000));
  const reason = verifyPayment(payment, { price, recover, now, leastSecondsLeft: rules.leastSecondsLeft });
  if (reason !== undefined) return reason;
  if (!(await screening.check({ chain: homeOfPayments, address: from })).clear) return 'payer_refused';
  if (facilitator !== undefined) return facilitator.verify(await questionOf(parts, request));
  const { atomic } = price.amount;
  return (await askChain(till.funds.holds(from, atomic))).atomic < atomic ? 'insufficient_funds' : undefined;
}

async function claimAndServe(parts: SellingParts, request: PaidRequest): Promise<Sale> {
  const { db, checkpoint } = parts;
  const used = isUsed(parts, request);
  // Whoever needs it finds out that it failed; nobody else has to.
  used.catch(() => {});
  const claimed = await claim(parts, request);
  switch (claimed.is) {
    case 'short':
      return refuse(parts, request, 'insufficient_funds');
    case 'not_owed':
      return refuse(parts, request, 'debt_mismatch');
    case 'in_debt':
      return refuse(parts, request, 'payer_in_debt');
    case 'ours':
      return refuse(parts, request, 'payer_refused');
    case 'identifier_taken':
      throw nanoErrors.payment_identifier_conflict();
    case 'claimed':
      checkpoint('nano.claimed');
      return serveClaim(parts, request, claimed, used);
    case 'prepaid':
    case 'known': {
      const earlier = await findClaim(db, claimed.id);
      if (earlier === undefined) return claimAndServe(parts, request);
      if (!isFor(earlier, request)) {
        return refuse(parts, request, 'invalid_exact_evm_nonce_already_used');
      }
      // Released, because its call failed, or left behind by a process that is gone: this request takes it over.
      return (await answerEarlier(parts, request, earlier)) ?? claimAndServe(parts, request);
    }
  }
}

/** Asked while it is being claimed. Whoever checks payments elsewhere asks for himself. */
async function isUsed({ till, facilitator }: SellingParts, { payment }: PaidRequest): Promise<boolean> {
  const { from, nonce } = payment.authorization;
  return facilitator === undefined && (await askChain(till.funds.isUsed(from, nonce)));
}

/** A wallet is too short only when the chain says so now, and what has moved since our books were written is counted. */
async function claim(parts: SellingParts, request: PaidRequest): Promise<Claimed> {
  const { till, facilitator } = parts;
  const { from, atomic } = request.payment.authorization;
  if (facilitator !== undefined && request.call.clearsDebt !== true) return claimWith(parts, request, undefined);
  const claimed = await claimWith(parts, request, await askChain(till.funds.holds(from, atomic)));
  return claimed.is === 'short' ? claimWith(parts, request, await askChain(till.funds.holdsNow(from))) : claimed;
}

async function claimWith(
  parts: SellingParts,
  { payment, call, fingerprint }: PaidRequest,
  holding: Holding | undefined,
): Promise<Claimed> {
  const { till, rules, isOverdue } = parts;
  const { authorization, identifier } = payment;
  return parts.claim({
    protocol: 'x402',
    chain: homeOfPayments,
    token: till.token,
    amount: amountOf(call.price.asset, authorization.atomic),
    authorization,
    resource: call.id,
    fingerprint,
    identifier,
    submittedElsewhere: holding === undefined,
    mostCredit: (await isOverdue()) ? 0n : rules.mostCredit,
    holding,
    clearsDebt: call.clearsDebt === true,
  });
}

/**
 * What was claimed before: its answer, once there is one. Whoever serves it is waited for, and so is its arrival where that
 * comes first. Undefined when nobody serves it and it has not arrived: then it is worth what the payment is judged to be now,
 * which may be over by then, or not what was signed.
 */
async function answerEarlier(parts: SellingParts, request: PaidRequest, found: Claim): Promise<Sale | undefined> {
  const startedAt = performance.now();
  let earlier: Claim | undefined = found;
  while (earlier !== undefined) {
    if (earlier.servedAt !== null) return answerAgain(parts, request, earlier);
    if (earlier.lapsedAt !== null) {
      return refuse(parts, request, 'invalid_exact_evm_payload_authorization_valid_before');
    }
    const waitsForArrival = earlier.prepaid && earlier.arrivedAt === null;
    if (!earlier.leased && !waitsForArrival) {
      return earlier.arrivedAt === null ? undefined : claimAndServe(parts, request);
    }
    const patienceMs = earlier.leased ? (leaseSeconds + 1) * 1_000 : patienceOf(request);
    if (performance.now() - startedAt > patienceMs) return pending(parts, earlier);
    await sleep(lookAgainMs);
    earlier = await findClaim(parts.db, earlier.id);
  }
  return undefined;
}

function answerAgain(parts: SellingParts, request: PaidRequest, claim: Claim): Sale | Promise<Sale> {
  // Answers are kept for a day at least; after that there is nothing left to give for it.
  if (claim.answer === null) return refuse(parts, request, 'invalid_exact_evm_nonce_already_used');
  const { from: payer, atomic } = claim.authorization;
  const paid = { paymentId: claim.id, payer: getAddress(payer), atomic, txHash: claim.txHash };
  return { status: 200, body: claim.answer, headers: receiptHeaders(paid) };
}

/** Whoever would rather not wait, or not for so long, says so (RFC 7240): `Prefer: wait=2`. */
function patienceOf({ header }: PaidRequest): number {
  const [, seconds] = /(?:^|[,;\s])wait=(\d{1,5})(?:$|[,;\s])/i.exec(header('prefer') ?? '') ?? [];
  return seconds === undefined ? prepaidPatienceMs : Math.min(Number(seconds) * 1_000, prepaidPatienceMs);
}
