import type { Hex } from 'viem';
import { type Authorization, readTokenDomain, toTypedData } from '../../chains/authorization.ts';
import { markSignatureShown } from '../../custody/steps/plan-step.ts';
import type { HouseWallet } from '../../custody/wallets/house-wallets.ts';
import { onlyRow } from '../../kernel/db/database.ts';
import { OutgoingError } from '../../kernel/outgoing/outgoing.ts';
import { changeState } from '../../kernel/sagas/change-state.ts';
import { noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import type { SagaStep } from '../../kernel/sagas/run-saga.ts';
import { wakeSaga } from '../../kernel/sagas/wake-saga.ts';
import { homeChain } from '../../money/catalogue.ts';
import { keyFrozen, requireUnfrozenKey, stoppedByFreeze } from '../../policies/frozen.ts';
import { decodeHeader, encodeHeader, headerNames } from '../wire/header.ts';
import { networkName, type Receipt, receipt } from '../wire/messages.ts';
import { askSeller, type SellerAnswer, type SellerRequest } from './ask-seller.ts';
import { giveBackUnlessTaken } from './give-back.ts';
import { shortenToKeep } from './keep-answer.ts';
import {
  findPayer,
  forgetRequest,
  homeUsdc,
  isTooLate,
  type Purchase,
  type PurchaseParts,
  payStep,
  type SellerTrouble,
} from './purchase.ts';
import { laneOf, purchaseSaga } from './saga.ts';

/** `answer` is the seller's, if this process has asked. */
interface Sent {
  readonly step: SagaStep;
  readonly answer?: SellerAnswer | undefined;
}

/** Signed: the request is recorded before the seller is asked, so only one process asks, once. */
export async function sendPayment(parts: PurchaseParts, purchase: Purchase): Promise<Sent> {
  const { db } = parts;
  const { id, keyId } = purchase;
  if (isTooLate(purchase)) return { step: await giveBackUnlessTaken(parts, purchase) };
  const isOurs = await db
    .transaction(async (tx) => {
      const { rowCount } = await tx.query(
        `UPDATE purchases SET status = 'sending', asks = 1, asked_at = clock_timestamp(), updated_at = now()
        WHERE id = $1 AND status = 'signed'`,
        [id],
      );
      if (rowCount !== 1) return false;
      await requireUnfrozenKey(tx, keyId);
      await markSignatureShown(tx, payStep(id));
      return true;
    })
    .catch(stoppedByFreeze);
  if (isOurs === 'stopped') return { step: await giveBackUnlessTaken(parts, purchase, keyFrozen) };
  return { step: 'go_on', answer: isOurs ? await ask(parts, purchase, 1) : undefined };
}

/** The time beyond the seller's timeout that a process has to record the answer. */
const graceMs = 2_000;

const mostAsks = 3;

/**
 * Sending: another process waits for the seller's answer. After the timeout that process is gone, and the answer is lost. An idempotent
 * request is sent again: it carries the same payment, which can be taken only once.
 */
export async function sendAgain(parts: PurchaseParts, purchase: Purchase): Promise<SagaStep> {
  const { db, timeoutMs } = parts;
  const { id, asks } = purchase;
  const { leftMs } = onlyRow(
    await db.query<{ leftMs: number }>(
      'SELECT extract(epoch FROM asked_at - clock_timestamp())::float8 * 1000 + $2 AS left_ms FROM purchases WHERE id = $1',
      [id, timeoutMs + graceMs],
    ),
  );
  if (leftMs > 0) return { lookAgainInMs: leftMs, waitsFor: 'the seller to answer' };
  if (asks >= mostAsks || isTooLate(purchase) || !isRepeatable(purchase)) {
    await writeDown(parts, purchase, asks, { trouble: 'lost' });
    return 'go_on';
  }
  const { rowCount } = await db.query(
    `UPDATE purchases SET asks = asks + 1, asked_at = clock_timestamp(), updated_at = now()
      WHERE id = $1 AND status = 'sending' AND asks = $2`,
    [id, asks],
  );
  if (rowCount === 1) await ask(parts, purchase, asks + 1);
  return 'go_on';
}

/** A GET changes nothing, and a seller with the payment-id extension answers a repeated payment idempotently. */
function isRepeatable({ method, terms }: Purchase): boolean {
  return method === 'GET' || hasPaymentId(terms.extensions);
}

const paymentIdExtension = 'payment-identifier';

function hasPaymentId(extensions: unknown): boolean {
  return typeof extensions === 'object' && extensions !== null && paymentIdExtension in extensions;
}

async function ask(parts: PurchaseParts, purchase: Purchase, time: number): Promise<SellerAnswer | undefined> {
  const { outgoing, timeoutMs, checkpoint = noCheckpoint } = parts;
  checkpoint('purchase.sending');
  const request = await openRequest(parts, purchase);
  const payment = await paymentHeader(parts, purchase);
  const came = await askSeller(outgoing, request, { timeoutMs, payment }).then(
    (answer) => ({ answer }),
    (error: unknown) => {
      if (!(error instanceof OutgoingError)) throw error;
      return { trouble: error.code === 'timeout' ? ('timeout' as const) : ('unreachable' as const) };
    },
  );
  const isKept = await writeDown(parts, purchase, time, came);
  checkpoint('purchase.answered');
  return isKept && 'answer' in came ? came.answer : undefined;
}

async function openRequest({ db, secrets }: PurchaseParts, { id }: Purchase): Promise<SellerRequest> {
  const { sealed } = onlyRow(
    await db.query<{ sealed: Buffer }>('SELECT sealed FROM purchase_requests WHERE purchase_id = $1', [id]),
  );
  return JSON.parse(secrets.open('purchases', sealed)) as SellerRequest;
}

/** The signed payment, in the seller's x402 version. */
async function paymentHeader({ db }: PurchaseParts, purchase: Purchase): Promise<Record<string, string>> {
  const { id, version, terms, signature } = purchase;
  if (signature === null) throw new Error(`purchase ${id} is not signed`);
  const { from, to, atomic, nonce, validBefore } = authorizationOf(purchase, await findPayer(db, purchase));
  const authorization = {
    from,
    to,
    value: String(atomic),
    validAfter: '0',
    validBefore: String(validBefore),
    nonce,
  };
  const payload = { signature, authorization };
  if (version === 1) {
    const content = { x402Version: 1, scheme: 'exact', network: networkName(homeChain, 1), payload };
    return { [headerNames[1].payment]: encodeHeader(content) };
  }
  const { accepted, resource, extensions } = terms;
  const content = {
    x402Version: 2,
    ...(resource !== undefined && { resource }),
    accepted,
    payload,
    ...(extensions !== undefined && { extensions: withPaymentId(extensions, id) }),
  };
  return { [headerNames[2].payment]: encodeHeader(content) };
}

/** Extensions are echoed unchanged, except that the payment-id extension gets our id. */
function withPaymentId(extensions: unknown, id: string): unknown {
  if (!hasPaymentId(extensions)) return extensions;
  const known = extensions as Record<string, { info?: object } | undefined>;
  const extension = known[paymentIdExtension];
  return { ...known, [paymentIdExtension]: { ...extension, info: { ...extension?.info, id } } };
}

type Came = { readonly answer: SellerAnswer } | { readonly trouble: SellerTrouble };

/**
 * Records the answer, or that it is lost, unless another process has asked since. The next step waits for the chain only. The guard
 * recognizes a call whose answer is lost by its request until the purchase ends.
 */
async function writeDown(parts: PurchaseParts, purchase: Purchase, time: number, came: Came): Promise<boolean> {
  const { db } = parts;
  const { id, accountId, amount } = purchase;
  const answer = 'answer' in came ? came.answer : undefined;
  return db.transaction(async (tx) => {
    const isFirst = await changeState(tx, purchaseSaga, {
      id,
      from: 'sending',
      where: { asks: time },
      to: 'settling',
      set: {
        sellerStatus: answer?.status ?? null,
        sellerTrouble: 'trouble' in came ? came.trouble : null,
        receipt: (answer && JSON.stringify(readReceipt(answer))) ?? null,
      },
    });
    if (!isFirst) return false;
    if (answer !== undefined) {
      const { headers, body, truncated } = await shortenToKeep(tx, accountId, answer, amount.atomic);
      await tx.query('INSERT INTO purchase_answers (purchase_id, headers, body, truncated) VALUES ($1, $2, $3, $4)', [
        id,
        JSON.stringify(headers),
        body,
        truncated,
      ]);
      await forgetRequest(tx, id);
    }
    await wakeSaga(tx, { saga: purchaseSaga.name, id, lane: laneOf('settling') });
    return true;
  });
}

/** The seller's receipt. It is not trusted, and only tells where to look first. */
function readReceipt({ headers }: SellerAnswer): Receipt | undefined {
  for (const name of [headerNames[2].receipt, headerNames[1].receipt]) {
    const header = headers[name];
    const read = typeof header === 'string' ? receipt.safeParse(decodeHeader(header)) : undefined;
    if (read?.success) return read.data;
  }
  return undefined;
}

export function namedTransaction({ receipt: said }: Purchase): Hex | undefined {
  const named = said?.transaction.toLowerCase() ?? '';
  return /^0x[0-9a-f]{64}$/.test(named) ? (named as Hex) : undefined;
}

function authorizationOf(
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
  if (isTooLate(purchase)) return giveBackUnlessTaken(parts, purchase);
  const { network, token } = homeUsdc(networks);
  const payer = await findPayer(db, purchase);
  const domain = await readTokenDomain(network, token.address);
  const signature = await provider.signTypedData(payer, toTypedData(domain, authorizationOf(purchase, payer)));
  const set = { signature: signature.toLowerCase() };
  await changeState(db, purchaseSaga, { id: purchase.id, from: 'held', to: 'signed', set });
  checkpoint('purchase.signed');
  return 'go_on';
}
