import type { Database, Transaction } from '../../kernel/db/database.ts';
import { type AccountId, dueAccount, userAccount } from '../../ledger/account-id.ts';
import { openClaimant } from '../../ledger/claimants.ts';
import { postOrThrow } from '../../ledger/ledger.ts';
import { amountOf } from '../../money/amount.ts';
import { assets, homeChain } from '../../money/catalogue.ts';
import { orderFee } from '../../money/fees.ts';
import { keyFrozen } from '../../policies/frozen.ts';
import { type CheckoutTotal, type ShopAnswer, toAmount } from './checkout.ts';
import { voidCredential, voidUnredeemed } from './credential.ts';
import { findOrder, type Order, type OrderParts } from './order.ts';
import { captured, released } from './postings.ts';
import { recordOrderEvent } from './response.ts';

/** The ledger account that a shop is paid to: its own or, while it has none, the one of its domain. */
interface Seller {
  readonly account: AccountId;
  /** Undefined while the shop has no account. */
  readonly accountId: bigint | undefined;
}

/**
 * Call before the commit that pays the shop, because opening the domain's claimant is a commit of its own. Undefined if the order
 * belongs to an account.
 */
async function openSeller(
  db: Database,
  { merchantId, domain, asset }: Pick<Order, 'merchantId' | 'domain' | 'asset'>,
): Promise<bigint | undefined> {
  if (merchantId !== null) return undefined;
  const { claimant } = await openClaimant(db, { kind: 'domain', name: domain, asset, chain: homeChain });
  return claimant.id;
}

/**
 * Call in the commit that pays the shop. The seller is the account that received the order, even if the domain has another owner now; without
 * one, the first account that proves the domain. The row lock on the claimant orders this against a concurrent proof, so that the
 * money reaches the new owner either way.
 */
async function findSeller(
  tx: Transaction,
  { merchantId, asset }: Pick<Order, 'merchantId' | 'asset'>,
  claimantId: bigint | undefined,
): Promise<Seller> {
  if (merchantId !== null) return { account: userAccount(merchantId, asset), accountId: merchantId };
  if (claimantId === undefined) throw new Error('nothing was opened for a shop without an account');
  const { rows } = await tx.query<{ accountId: bigint | null }>(
    'SELECT account_id FROM claimants WHERE id = $1 FOR SHARE',
    [claimantId],
  );
  const accountId = rows[0]?.accountId ?? undefined;
  return accountId === undefined
    ? { account: dueAccount(claimantId, asset), accountId: undefined }
    : { account: userAccount(accountId, asset), accountId };
}

type SettleParts = Pick<OrderParts, 'db' | 'ledger' | 'logger'>;
type Accepted = Extract<ShopAnswer, { state: 'accepted' }>;

/** The shop is paid, it has not redeemed its credential, or another process was faster. */
type Capture = 'captured' | 'not_redeemed' | 'decided_before';

/**
 * The shop has accepted the order: it is paid in the commit that completes the order, by one process only. A shop that was given a
 * credential must have redeemed it, because until then anyone could answer in its place. After a restore from a backup the redemption
 * may be missing.
 */
export async function captureOrder(
  { db, ledger }: SettleParts,
  order: Order,
  accepted: Accepted,
  word: 'of the shop' | 'of the operator',
): Promise<Capture> {
  const { id } = order;
  const charged = chargedFor(order, accepted.total);
  const claimantId = await openSeller(db, order);
  return db.transaction(async (tx) => {
    const { rows } = await tx.query<{ counts: boolean }>(
      `SELECT o.channel <> 'ucp' OR o.restored_at IS NOT NULL OR c.redeemed_at IS NOT NULL AS counts
         FROM orders o LEFT JOIN payment_credentials c ON c.order_id = o.id
        WHERE o.id = $1 AND o.status = 'placed' FOR UPDATE OF o`,
      [id],
    );
    const [open] = rows;
    if (open === undefined) return 'decided_before';
    if (word === 'of the shop' && !open.counts) return 'not_redeemed';
    const seller = await findSeller(tx, order, claimantId);
    await tx.query(
      `UPDATE orders SET status = 'completed', charged = $2, charged_fee = $3, merchant_order_id = $4, merchant_url = $5,
          seller_id = $6, updated_at = now(), finished_at = now()
        WHERE id = $1`,
      [
        id,
        charged.amount.atomic,
        charged.fee.atomic,
        accepted.merchantOrderId ?? null,
        accepted.url ?? null,
        seller.accountId ?? null,
      ],
    );
    await tellOf(tx, id, 'order.completed', seller.accountId);
    await postOrThrow(tx, ledger, [captured(order, { seller: seller.account, sellerId: seller.accountId, charged })]);
    return 'captured';
  });
}

/**
 * A shop gets at most what the buyer agreed to, whatever it says afterwards. If it asks for less in the same currency, it gets less.
 */
function chargedFor({ amount, fee, asset }: Order, total: CheckoutTotal | undefined) {
  if (total === undefined || total.currency !== assets[asset].currency || total.minor <= 0n) return { amount, fee };
  const asked = toAmount(asset, total);
  if (asked.atomic >= amount.atomic) return { amount, fee };
  return { amount: amountOf(asset, asked.atomic), fee: orderFee(asked) };
}

/** How an order ends that the shop has not accepted. */
export type Ending =
  | { readonly status: 'failed'; readonly code: string; readonly reason: string }
  | { readonly status: 'needs_buyer'; readonly continueUrl: string };

export const cancelledByBuyer = {
  status: 'failed',
  code: 'cancelled',
  reason: 'You cancelled the order.',
} as const satisfies Ending;

/** A freeze came before the shop was asked. */
export const stoppedByFreeze = { status: 'failed', code: 'key_frozen', reason: keyFrozen } as const satisfies Ending;

/** The shop did not redeem its credential in time. */
export const notRedeemed = {
  status: 'failed',
  code: 'not_redeemed',
  reason: 'The shop accepted the order, but did not redeem the payment in time.',
} as const satisfies Ending;

/** The money is back, the shop may have the order, or another process was faster. */
export type Release = 'released' | 'with_the_shop' | 'decided_before';

/**
 * Refunds the buyer in full. If the shop has not said that it refused the order, this happens only if it cannot have accepted it: its
 * credential was not redeemed and is void from this commit on, or it takes orders by webhook and was never sent this one. After the
 * last deadline, which the shop knows, the buyer is refunded in any case.
 */
export async function releaseOrder(
  { db, ledger, logger }: SettleParts,
  order: Order,
  ending: Ending,
  certainty: 'the shop said so' | 'unless it may have it' | 'after the last deadline',
): Promise<Release> {
  const { id } = order;
  return db.transaction(async (tx) => {
    const { rows } = await tx.query<OpenOrder>(
      `SELECT asked_at IS NOT NULL AS was_asked, restored_at IS NOT NULL AS is_restored, void_at <= clock_timestamp() AS is_void
         FROM orders WHERE id = $1 AND status = 'placed' FOR UPDATE`,
      [id],
    );
    const [open] = rows;
    if (open === undefined) return 'decided_before';
    if (certainty === 'unless it may have it') {
      if (!(await cannotHaveIt(tx, order, open))) return 'with_the_shop';
    } else if (certainty === 'after the last deadline' && !open.isVoid) return 'with_the_shop';
    else await voidCredential(tx, id);
    const failed = ending.status === 'failed' ? ending : undefined;
    await tx.query(
      `UPDATE orders SET status = $2, error = $3, error_code = $4, continue_url = $5, updated_at = now(), finished_at = now()
        WHERE id = $1`,
      [
        id,
        ending.status,
        failed?.reason ?? null,
        failed?.code ?? null,
        ending.status === 'needs_buyer' ? ending.continueUrl : null,
      ],
    );
    // A shop that may have accepted it must not ship any more.
    const mayHaveTakenIt = certainty === 'after the last deadline' || failed?.code === notRedeemed.code;
    const shop = mayHaveTakenIt ? (order.merchantId ?? undefined) : undefined;
    await tellOf(tx, id, 'order.failed', shop);
    await postOrThrow(tx, ledger, [released(order)]);
    if (failed !== undefined) logger.info({ order: id, shop: order.domain, code: failed.code }, 'an order failed');
    return 'released';
  });
}

interface OpenOrder {
  readonly wasAsked: boolean;
  /** After a restore, this database may not know the latest state of the order. */
  readonly isRestored: boolean;
  readonly isVoid: boolean;
}

async function cannotHaveIt(
  tx: Transaction,
  { id, channel }: Order,
  { wasAsked, isRestored }: OpenOrder,
): Promise<boolean> {
  if (isRestored) return false;
  return channel.kind === 'ucp' ? voidUnredeemed(tx, id) : !wasAsked;
}

async function tellOf(
  tx: Transaction,
  id: string,
  event: 'order.completed' | 'order.failed',
  sellerId: bigint | undefined,
): Promise<void> {
  const order = await findOrder(tx, id);
  if (order === undefined) throw new Error(`order ${id} is gone`);
  await recordOrderEvent(tx, event, order, sellerId);
}
