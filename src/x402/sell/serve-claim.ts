import type { Hex } from 'viem';
import { httpErrors } from '../../kernel/http/errors.ts';
import { amountOf } from '../../money/amount.ts';
import { findClaim } from './claim.ts';
import { type Claimed, releaseClaim } from './claim-payments.ts';
import type { Facilitator, FacilitatorQuestion } from './facilitator.ts';
import { pending, receiptHeaders } from './receipts.ts';
import { type PaidRequest, refuse, runCall, type Sale, type SellingParts } from './sale.ts';
import { terms1Of, terms2Of } from './terms.ts';

type Lease = Extract<Claimed, { readonly is: 'claimed' }>;

/** Shorter than the lease, so that a slow call fails before another process takes over. Nothing is charged then. */
const runWithinMs = 12_000;

/** Serves the claim or releases it. */
export async function serveClaim(
  parts: SellingParts,
  request: PaidRequest,
  lease: Lease,
  used: Promise<boolean>,
): Promise<Sale> {
  if (parts.facilitator !== undefined && (await findArrival(parts, lease)) === undefined) {
    return settleElsewhere(parts, request, lease, parts.facilitator);
  }
  return orRelease(parts, lease, async () => {
    // A used nonce with an arrival is a payment; without one it was used for something else or cancelled.
    const mayHaveArrived = parts.facilitator !== undefined || (await used);
    const txHash = mayHaveArrived ? await findArrival(parts, lease) : null;
    if (txHash !== undefined) {
      return handOver(parts, request, lease, { body: await withinTime(runCall(parts, request)), txHash });
    }
    await releaseClaim(parts.db, lease);
    return refuse(parts, request, 'invalid_exact_evm_nonce_already_used');
  });
}

/** A failure charges nothing. If the claim was already recorded as served, it stays so. */
async function orRelease<Result>({ db }: SellingParts, lease: Lease, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    await releaseClaim(db, lease).catch(() => {});
    throw error;
  }
}

async function findArrival({ db }: SellingParts, { id }: Lease): Promise<Hex | undefined> {
  return (await findClaim(db, id))?.txHash ?? undefined;
}

async function handOver(
  parts: SellingParts,
  request: PaidRequest,
  lease: Lease,
  { body, txHash }: { readonly body: unknown; readonly txHash: Hex | null },
): Promise<Sale> {
  const { from: payer, atomic } = request.payment.authorization;
  // The signed amount, not the current price: a debt's price falls to 0 once its payment has arrived.
  const amount = amountOf(request.call.price.asset, atomic);
  const isOurs = await parts.serve({ id: lease.id, holder: lease.holder, amount, answer: body });
  parts.checkpoint('nano.served');
  const headers = receiptHeaders({ paymentId: lease.id, payer, atomic, txHash });
  if (isOurs) return { status: 200, body, headers };
  // The lease expired and another process took over: its answer counts.
  const claim = await findClaim(parts.db, lease.id);
  if (claim?.servedAt == null) throw httpErrors.unavailable(undefined, { headers: { 'Retry-After': '1' } });
  return { status: 200, body: claim.answer, headers };
}

/**
 * The facilitator submits the payment. From the request on, the payment may have moved, so the claim is released only
 * if the facilitator refuses it and the chain shows an unused nonce. An unclear outcome stays pending and is not
 * submitted again.
 */
async function settleElsewhere(
  parts: SellingParts,
  request: PaidRequest,
  lease: Lease,
  facilitator: Facilitator,
): Promise<Sale> {
  const { db } = parts;
  const [question, body] = await orRelease(
    parts,
    lease,
    async (): Promise<[FacilitatorQuestion, unknown]> => [
      await questionOf(parts, request),
      await withinTime(runCall(parts, request)),
    ],
  );
  const settled = await facilitator.settle(question);
  if (settled.is === 'settled') return handOver(parts, request, lease, { body, txHash: settled.txHash });
  if (settled.is === 'refused' && !(await mayHaveMoved(parts, request))) {
    await releaseClaim(db, lease);
    return refuse(parts, request, settled.reason);
  }
  await db.query('UPDATE payment_claims SET leased_until = NULL WHERE id = $1 AND holder = $2', [
    lease.id,
    lease.holder,
  ]);
  const claim = await findClaim(db, lease.id);
  if (claim === undefined) throw new Error(`payment ${lease.id} is gone`);
  return pending(parts, claim);
}

/** A facilitator may have submitted what it reports as refused. Without an answer of the chain, assume so. */
async function mayHaveMoved({ till }: SellingParts, { payment }: PaidRequest): Promise<boolean> {
  const { from, nonce } = payment.authorization;
  return till.funds.isUsed(from, nonce).catch(() => true);
}

export async function questionOf(parts: SellingParts, request: PaidRequest): Promise<FacilitatorQuestion> {
  const { payment, call, url } = request;
  const price = await parts.till.priceOf(call.price);
  return { payment, terms: payment.version === 1 ? terms1Of(price, call, url) : terms2Of(price) };
}

/** A plain timer: an abort signal would make an error with its stack for every call. */
function withinTime<Result>(work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const tooLate = setTimeout(() => reject(tookTooLong()), runWithinMs).unref();
    work.then(resolve, reject).finally(() => clearTimeout(tooLate));
  });
}

function tookTooLong() {
  return httpErrors.unavailable('The call took too long. Nothing was charged. Try again.', {
    headers: { 'Retry-After': '5' },
  });
}
