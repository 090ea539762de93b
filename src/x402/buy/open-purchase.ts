import { randomBytes } from 'node:crypto';
import type { Hex } from 'viem';
import { enforceLimits } from '../../custody/limits/allow-list.ts';
import {
  fitsHourlyLimit,
  lockHourlyLimit,
  readSentBefore,
  type SentBefore,
} from '../../custody/limits/hourly-limit.ts';
import type { OutgoingLimits } from '../../custody/limits/outgoing-limits.ts';
import { planStep } from '../../custody/steps/plan-step.ts';
import { fromChain, orUnavailable } from '../../custody/wallets/errors.ts';
import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import { TryAgain } from '../../kernel/db/errors.ts';
import { type Repeated, refuseDuplicate } from '../../kernel/http/duplicate-guard.ts';
import { httpErrors } from '../../kernel/http/errors.ts';
import { Problem } from '../../kernel/http/problem.ts';
import { newId } from '../../kernel/ids/ids.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import { wakeSaga } from '../../kernel/sagas/wake-saga.ts';
import { houseAccount, userAccount } from '../../ledger/account-id.ts';
import { requirePosted } from '../../ledger/balance-errors.ts';
import { keyDigest } from '../../ledger/encode-batch.ts';
import { claimKey, findKey, lockKey } from '../../ledger/idempotency.ts';
import type { Authority } from '../../ledger/posting.ts';
import { type Amount, add } from '../../money/amount.ts';
import { homeChain } from '../../money/catalogue.ts';
import { type Consent, guarded } from '../../policies/consent.ts';
import type { SellerRequest } from './ask-seller.ts';
import type { Offer } from './choose-offer.ts';
import { purchaseErrors } from './errors.ts';
import { type Charged, feeOf } from './fee.ts';
import { askForFloat, type Float, freeUntilCommit, readFloat } from './fill-float.ts';
import { hostOf, paymentToSeller } from './payment-to-seller.ts';
import { homeUsdc, type PurchaseParts, payStep } from './purchase.ts';
import { laneOf, type PurchaseStatus, publicStatus, purchaseSaga } from './saga.ts';
import { type Buying, refuseAbove } from './seller-request.ts';

/** Logged again only after this long without a refusal. */
const rememberedMs = 10 * 60_000;

const happenedAt = new WeakMap<Logger, number>();

/** A refused payment leaves nothing in the operator's list, so the log reports the first refusal of a series. */
function logHourlyLimit(logger: Logger): void {
  const now = performance.now();
  const before = happenedAt.get(logger);
  happenedAt.set(logger, now);
  if (before !== undefined && now - before < rememberedMs) return;
  logger.error('payments to sellers are refused: the hourly limit WITHDRAWALS_PER_HOUR is reached');
}

export interface OpeningParts extends PurchaseParts {
  readonly brakes: OutgoingLimits;
  readonly consent: Consent;
}

export interface NewPurchase extends Buying {
  readonly offer: Offer;
}

/** Debits, reserves and records the authorization in one commit. Undefined when the request was accepted before. */
export async function openPurchase(parts: OpeningParts, wanted: NewPurchase): Promise<string | undefined> {
  const { db, logger } = parts;
  const [float, validity, leftBefore] = await orUnavailable(
    Promise.all([readFloat(parts), readValidity(parts, wanted.offer), readSentBefore(db)]),
  );
  try {
    for (let attempt = 1; ; attempt++) {
      const allowed = await askConsent(parts, wanted);
      const opening = { ...wanted, ...validity, ...allowed, float, leftBefore };
      const opened = await db.transaction((tx) => openWithin(tx, parts, opening), { kind: 'purchases' });
      if (opened !== 'another fee') return opened;
      if (attempt === mostAttempts) throw new TryAgain('other purchases of the account keep changing the fee');
    }
  } catch (error) {
    const code = error instanceof Problem ? error.code : undefined;
    if (code === purchaseErrors.float_short.code) await askForFloat(db);
    if (code === purchaseErrors.hourly_limit_reached.code) logHourlyLimit(logger);
    throw error;
  }
}

/** Only purchases of the same account at the same time change the fee, and each attempt sees those before it. */
const mostAttempts = 10;

interface Allowed {
  readonly authority: Authority;
  /** The fee that the policies were asked about. */
  readonly judgedFee: Amount;
}

/** The policies judge the price with its fee. The fee is known for certain only in the commit, and may be another one there. */
async function askConsent(parts: OpeningParts, wanted: NewPurchase): Promise<Allowed> {
  const { db, consent } = parts;
  const { caller, request, offer, guard } = wanted;
  const { fee: judgedFee } = await feeOf(db, caller.accountId, offer.price);
  const payment = paymentToSeller({ request, price: offer.price, fee: judgedFee, payTo: offer.payTo });
  const newest = () => newestOpen(db, parts, wanted);
  return { authority: await consent.forPayment(caller, guarded(payment, { db, guard, newest })), judgedFee };
}

interface Opening extends NewPurchase, Validity, Allowed {
  readonly float: Float;
  readonly leftBefore: SentBefore;
}

async function openWithin(
  tx: Transaction,
  parts: OpeningParts,
  opening: Opening,
): Promise<string | 'another fee' | undefined> {
  const { caller, idempotency, offer, float } = opening;
  const scope = idempotency && { accountId: caller.accountId, ...idempotency };
  if (scope !== undefined) {
    await lockKey(tx, scope);
    const { holder } = await findKey(tx, scope);
    if (holder === 'another') throw httpErrors.idempotency_mismatch();
    if (holder === 'this') return undefined;
  }
  await refuseDuplicate(tx, { guard: opening.guard, accountId: caller.accountId }, () =>
    newestOpen(tx, parts, opening),
  );
  await brake(tx, parts, opening);
  const free = await freeUntilCommit(tx, float);
  if (free === undefined || free < offer.price.atomic) {
    throw purchaseErrors.float_short(undefined, { headers: { 'Retry-After': '10' } });
  }
  const charged = await feeOf(tx, caller.accountId, offer.price);
  refuseAbove(opening.maximum, offer.price, charged.fee);
  const isJudged = charged.fee.atomic === opening.judgedFee.atomic || opening.authority.stamp === 0n;
  if (!isJudged) return 'another fee';
  const id = await write(tx, parts, { ...opening, ...charged }, scope && keyDigest(scope));
  if (free - offer.price.atomic < parts.float.atomic / 2n) await askForFloat(tx);
  await wakeSaga(tx, { saga: purchaseSaga.name, id, lane: laneOf('held'), delayMs: leftAloneMs });
  await hold(tx, parts, { ...opening, ...charged }, id);
  // The key comes last, as in ledger.post.
  if (scope !== undefined && !(await claimKey(tx, scope))) throw httpErrors.idempotency_mismatch();
  return id;
}

/**
 * The newest purchase with the same request that the seller has not answered yet. Repeating a call is usual, so only then it looks
 * like a mistake.
 */
async function newestOpen(
  db: Queryable,
  { secrets }: OpeningParts,
  { caller, request }: NewPurchase,
): Promise<Repeated | undefined> {
  const { rows } = await db.query<Omit<Repeated, 'status'> & { status: PurchaseStatus; sealed: Buffer }>(
    `SELECT p.id, p.status, p.created_at, r.sealed FROM purchases p JOIN purchase_requests r ON r.purchase_id = p.id
      WHERE p.account_id = $1 AND p.method = $2 AND p.url = $3 AND p.finished_at IS NULL
      ORDER BY p.created_at DESC, p.id DESC`,
    [caller.accountId, request.method, request.url],
  );
  const alike = rows.find(({ sealed }) => {
    const { body } = JSON.parse(secrets.open('purchases', sealed)) as SellerRequest;
    return body === request.body;
  });
  return alike && { id: alike.id, status: publicStatus(alike.status), createdAt: alike.createdAt };
}

/**
 * The caller may be the seller and choose the address, so this is treated like a withdrawal: allow-list, daily limit
 * and hourly limit apply. The call cannot wait for the operator, so it is refused.
 */
async function brake(tx: Transaction, { brakes }: OpeningParts, opening: Opening): Promise<void> {
  const { caller, offer, leftBefore: before } = opening;
  const { perHour } = brakes;
  const value = offer.price.atomic;
  await enforceLimits(tx, brakes, { accountId: caller.accountId, address: offer.payTo, value });
  if (perHour === undefined) return;
  await lockHourlyLimit(tx);
  if (!(await fitsHourlyLimit(tx, { perHour, value, before }))) {
    throw purchaseErrors.hourly_limit_reached(undefined, { headers: { 'Retry-After': '600' } });
  }
}

/** The request continues the purchase itself. The saga's job takes over only if it does not. */
const leftAloneMs = 30_000;

interface Validity {
  readonly validBefore: bigint;
  readonly fromBlock: bigint;
}

/** The minimum, whatever the seller asks for. */
const leastSeconds = 10;

/** How far a reorg may move a transaction to an earlier block. */
const reorganisedBlocks = 256n;

/** As long as the seller asks for, within our bounds. */
async function readValidity({ networks, mostSeconds }: PurchaseParts, { seconds }: Offer): Promise<Validity> {
  const { number, timestamp } = await fromChain(homeUsdc(networks).network.client.getBlock({ blockTag: 'latest' }));
  const now = BigInt(Math.floor(Date.now() / 1_000));
  // The chain's clock may be ahead of ours, and the contract checks the validity by the chain's.
  const start = now > timestamp ? now : timestamp;
  return {
    validBefore: start + BigInt(Math.min(mostSeconds, Math.max(leastSeconds, Math.ceil(seconds)))),
    fromBlock: number > reorganisedBlocks ? number - reorganisedBlocks : 0n,
  };
}

async function write(
  tx: Transaction,
  { secrets }: PurchaseParts,
  { caller, request, offer, fee, openedAt, float, validBefore, fromBlock }: Opening & Charged,
  digest: string | undefined,
): Promise<string> {
  const id = newId('pur');
  const nonce: Hex = `0x${randomBytes(32).toString('hex')}`;
  await tx.query(
    `INSERT INTO purchases (id, account_id, method, url, key_digest, asset, amount, fee, x402_version, terms, wallet_id,
        pay_to, nonce, valid_before, from_block, created_at, key_id, host, status)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, 'held')`,
    [
      id,
      caller.accountId,
      request.method,
      request.url,
      digest ?? null,
      offer.price.asset,
      offer.price.atomic,
      fee.atomic,
      offer.version,
      JSON.stringify(offer.terms),
      float.wallet.id,
      offer.payTo.toLowerCase(),
      nonce,
      validBefore,
      fromBlock,
      openedAt,
      caller.keyId,
      hostOf(request.url),
    ],
  );
  await tx.query('INSERT INTO purchase_requests (purchase_id, sealed) VALUES ($1, $2)', [
    id,
    secrets.seal('purchases', JSON.stringify(request)),
  ]);
  await planStep(tx, {
    saga: purchaseSaga.name,
    ...payStep(id),
    chain: homeChain,
    wallet: float.wallet,
    leaves: [{ amount: offer.price, recipient: offer.payTo, authorizationNonce: nonce }],
  });
  return id;
}

/** The fee is in transit with the amount, and earned when the seller takes the payment. */
async function hold(
  tx: Transaction,
  { ledger }: PurchaseParts,
  { caller, authority, request, offer: { price, payTo }, fee }: Opening & Charged,
  id: string,
): Promise<void> {
  const taken = add(price, fee);
  const [posted] = await ledger.postWithin(tx, [
    {
      type: 'purchase',
      amount: taken,
      fee,
      entries: [
        { account: userAccount(caller.accountId, price.asset), atomic: -taken.atomic },
        { account: houseAccount('nano_in_transit', price.asset), atomic: taken.atomic },
      ],
      reference: `purchase:${id}`,
      description: describeUrl(request.url),
      details: { purchaseId: id, payTo },
      senderId: caller.accountId,
      keyId: caller.keyId,
      authority,
      spentOn: id,
    },
  ]);
  requirePosted(posted, 'a new purchase');
}

/** Without the query, which may contain secrets that do not belong in a statement. */
export function describeUrl(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`.slice(0, 200);
}
