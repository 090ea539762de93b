import { setTimeout as sleep } from 'node:timers/promises';
import { getAddress } from 'viem';
import { amountOf } from '../../money/amount.ts';
import { type Claim, findClaim, findClaimOf } from './claim.ts';
import { type Claimed, leaseSeconds } from './claim-payments.ts';
import { nanoErrors } from './errors.ts';
import { askChain, type Holding } from './funds.ts';
import { verifyPayment } from './payment.ts';
import type { Reason } from './reasons.ts';
import { pending, receiptHeaders } from './receipts.ts';
import { type PaidRequest, refuse, type Sale, type SellingParts } from './sale.ts';
import { questionOf, serveClaim } from './serve-claim.ts';
import { paymentChain } from './terms.ts';

/** How long a request waits for a prepaid payment to arrive. */
const prepaidPatienceMs = 8_000;
const lookAgainMs = 150;

/**
 * A payment that was served before gets the same answer, whatever its state now. Otherwise it is verified, claimed and
 * served. Concurrent requests with the same payment share one sale.
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
  // Refuses addresses that sent too many invalid payments before spending work on verification.
  const forgive = await count.trial();
  // Looked up first, so that a lost answer is found even if the payment has expired.
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

/** The signature proves the sender. A payment for a failed request may pay for another call of the same price. */
function isFor(earlier: Claim, { payment, call, fingerprint }: PaidRequest): boolean {
  if (earlier.authorization.signature !== payment.authorization.signature) return false;
  return earlier.fingerprint.equals(fingerprint) || (isSpare(earlier) && earlier.amount.atomic === call.price.atomic);
}

function isSpare({ arrivedAt, servedAt, leased, clearsDebt }: Claim): boolean {
  return arrivedAt !== null && servedAt === null && !leased && !clearsDebt;
}

function findEarlier({ db, till: { token } }: SellingParts, { payment }: PaidRequest): Promise<Claim | undefined> {
  const { from, nonce } = payment.authorization;
  return findClaimOf(db, { chain: paymentChain, token }, { from, nonce, identifier: payment.identifier });
}

/** Undefined when the payment passes all checks. */
async function judge(parts: SellingParts, request: PaidRequest): Promise<Reason | undefined> {
  const { till, clock, rules, screening, facilitator } = parts;
  const { payment, call } = request;
  const { from } = payment.authorization;
  const [price, recover] = await Promise.all([till.priceOf(call.price), till.recover()]);
  const now = BigInt(Math.floor(clock.now() / 1_000));
  const reason = await verifyPayment(payment, { price, recover, now, leastSecondsLeft: rules.leastSecondsLeft });
  if (reason !== undefined) return reason;
  if (!(await screening.check({ chain: paymentChain, address: from })).clear) return 'payer_refused';
  if (facilitator !== undefined) return facilitator.verify(await questionOf(parts, request));
  const { atomic } = price.amount;
  return (await askChain(till.funds.holds(from, atomic))).atomic < atomic ? 'insufficient_funds' : undefined;
}

async function claimAndServe(parts: SellingParts, request: PaidRequest): Promise<Sale> {
  const { db, checkpoint } = parts;
  const used = isUsed(parts, request);
  // Prevents an unhandled rejection when the result is not needed.
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
      // It was released after a failed call or left by a crashed process: this request takes it over.
      return (await answerEarlier(parts, request, earlier)) ?? claimAndServe(parts, request);
    }
  }
}

/** Runs while the payment is being claimed. An external facilitator checks this itself. */
async function isUsed({ till, facilitator }: SellingParts, { payment }: PaidRequest): Promise<boolean> {
  const { from, nonce } = payment.authorization;
  return facilitator === undefined && (await askChain(till.funds.isUsed(from, nonce)));
}

/** A cached balance may be outdated, so `short` is checked again with a fresh one that includes unbooked payments. */
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
    chain: paymentChain,
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
 * Waits for the process that serves the claim, or for a prepaid payment to arrive, and returns the answer. Undefined
 * when the claim is neither leased nor arrived: then the payment must be verified again, because it may have expired or
 * carry another signature.
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
  // Answers are deleted after two days.
  if (claim.answer === null) return refuse(parts, request, 'invalid_exact_evm_nonce_already_used');
  const { from: payer, atomic } = claim.authorization;
  const paid = { paymentId: claim.id, payer: getAddress(payer), atomic, txHash: claim.txHash };
  return { status: 200, body: claim.answer, headers: receiptHeaders(paid) };
}

/** Clients can shorten the wait with `Prefer: wait=2` (RFC 7240). */
function patienceOf({ header }: PaidRequest): number {
  const [, seconds] = /(?:^|[,;\s])wait=(\d{1,5})(?:$|[,;\s])/i.exec(header('prefer') ?? '') ?? [];
  return seconds === undefined ? prepaidPatienceMs : Math.min(Number(seconds) * 1_000, prepaidPatienceMs);
}
