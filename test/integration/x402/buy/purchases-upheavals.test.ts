// @module-tag thorough
import { type Hex, toHex } from 'viem';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { planStep } from '../../../../src/custody/steps/plan-step.ts';
import { Problem } from '../../../../src/kernel/http/problem.ts';
import { Ended } from '../../../../src/kernel/sagas/checkpoint.ts';
import { forgetKeysOlderThan } from '../../../../src/ledger/feature.ts';
import { amountOf } from '../../../../src/money/amount.ts';
import type { Bought } from '../../../../src/x402/buy/buy.ts';
import { forgetAnswers } from '../../../../src/x402/buy/keep-answer.ts';
import { networkOf, startNode } from '../../../support/lying-node.ts';
import { usePurchaseWorld } from '../../../support/purchases.ts';
import {
  type BroughtPayment,
  type Facilitator,
  openFacilitator,
  receiptHeader,
  sells,
  startSeller,
  termsOf,
} from '../../../support/seller.ts';

const seller = await startSeller();
const world = usePurchaseWorld(seller);
const { db } = world.deposits.database;
let facilitator: Facilitator;

beforeAll(async () => {
  facilitator = await openFacilitator(world.deposits.database);
});

/** An honest seller, who waits for the chain before it answers. */
beforeEach(() => {
  seller.asked.splice(0);
  sells(seller, termsOf(seller, { amount: '100000', maxTimeoutSeconds: 600 }), async (payment, _asked, response) => {
    const transaction = await facilitator.submit(payment);
    response.writeHead(200, receiptHeader(2, transaction)).end('goods');
  });
});

const idOf = (bought: Bought | Problem) => (bought as Bought).answer.payment?.id ?? '';
const paymentsSeen = () => seller.asked.filter(({ payment }) => payment !== undefined).length;

async function onlyPurchase(accountId: bigint): Promise<string> {
  const { rows } = await db.query<{ id: string }>('SELECT id FROM purchases WHERE account_id = $1', [accountId]);
  expect(rows).toHaveLength(1);
  return rows[0]?.id ?? '';
}

async function isPaid(id: string): Promise<void> {
  await world.read();
  await world.advance(id);
  expect((await world.look(id)).status).toBe('paid');
}

/** Ends the work at a place, as the end of the process would. */
const endAt = (place: string) => ({
  checkpoint: (name: string) => {
    if (name === place) throw new Ended(place);
  },
});

describe('the float', () => {
  test('is filled by the treasury with half of what there is, and every book agrees on the way', async () => {
    const ada = await world.newRich(8_000_000n);
    expect(await world.buy(ada)).toMatchObject({ status: 503, code: 'float_short' });
    const { rows } = await db.query("SELECT FROM graphile_worker.jobs WHERE task_identifier = 'fill_float'");
    expect(rows).toHaveLength(1);
    expect(await world.balance(ada)).toBe(8_000_000n);

    await world.beginFilling();
    await world.beginFilling();
    expect((await db.query('SELECT FROM house_moves WHERE finished_at IS NULL')).rows).toHaveLength(1);
    expect(await world.differences()).toEqual([]);
    await world.fillFloat();
    expect(await world.held('purchases')).toBe(4_000_000n);
    expect(await world.held('treasury')).toBe(4_000_000n);
    expect(await world.differences()).toEqual([]);

    const bought = await world.buy(ada);
    expect(bought).toMatchObject({ answer: { body: 'goods', paid: 0.1 } });
    // Taken on the chain, read or not read, posted or not posted: it is nowhere missing.
    expect(await world.differences()).toEqual([]);
    await world.read();
    expect(await world.differences()).toEqual([]);
    await isPaid(idOf(bought));
    expect(await world.differences()).toEqual([]);
    expect(await world.balance(ada)).toBe(7_900_000n);
    expect(await world.reconciled()).toEqual([]);
  });

  test('is left alone as long as half of it is free', async () => {
    await world.beginFilling();
    expect((await db.query('SELECT FROM house_moves WHERE finished_at IS NULL')).rows).toHaveLength(0);
  });

  test('is never signed for twice, however many ask at once', async () => {
    const float = await world.held('purchases');
    const price = 900_000n;
    const grace = await world.newRich(20n * price);
    sells(seller, termsOf(seller, { amount: String(price), maxTimeoutSeconds: 600 }), (_payment, _asked, response) => {
      response.end('on credit');
    });
    const bought = await Promise.all(Array.from({ length: 12 }, () => world.buy(grace)));
    const sold = bought.filter((one) => !(one instanceof Problem));
    expect(BigInt(sold.length)).toBe(float / price);
    for (const one of bought) if (one instanceof Problem) expect(one.code).toBe('float_short');
    await facilitator.submit(...seller.asked.flatMap(({ payment }) => payment ?? []));
    for (const one of sold) await isPaid(idOf(one));
    expect(await world.held('purchases')).toBe(float - BigInt(sold.length) * price);
    expect(await world.balance(grace)).toBe(20n * price - BigInt(sold.length) * price);
    expect(await world.reconciled()).toEqual([]);
  });

  test('takes nothing that somebody waits for, and gives back what is free', async () => {
    await db.transaction((tx) =>
      planStep(tx, {
        saga: 'withdrawal',
        sagaId: 'wdr_waiting',
        step: 'pay',
        chain: 'MATIC',
        leaves: [{ amount: amountOf('USDC', 1_000_000_000n), recipient: seller.payTo }],
      }),
    );
    const [float, treasury] = [await world.held('purchases'), await world.held('treasury')];
    expect(float).toBeGreaterThan(0n);
    await world.fillFloat();
    expect(await world.held('purchases')).toBe(0n);
    expect(await world.held('treasury')).toBe(treasury + float);
    expect(await world.differences()).toEqual([]);
    await db.query("DELETE FROM chain_steps WHERE saga_id = 'wdr_waiting'");
    await world.fillFloat();
    expect(await world.held('purchases')).toBeGreaterThan(1_000_000n);
  });
});

test('who cannot sign shows nobody anything: the money is back at once, and the same key may succeed', async () => {
  const ada = await world.newRich(1_500_000n);
  const { provider } = world.deposits;
  const mute = { ...provider, signTypedData: () => Promise.reject(new Error('no answer')) };
  expect(await world.buy(ada, { key: 'k', provider: mute })).toMatchObject({ status: 503, code: 'payment_not_made' });
  expect(await world.balance(ada)).toBe(1_500_000n);
  expect(await world.look(await onlyPurchase(ada.id))).toMatchObject({ status: 'returned', signature: null });
  expect(paymentsSeen()).toBe(0);
  const again = await world.buy(ada, { key: 'k' });
  expect(again).toMatchObject({ answer: { body: 'goods' }, replayed: false });
  await isPaid(idOf(again));
  expect(await world.reconciled()).toEqual([]);
});

describe('when the process ends', () => {
  test.each(['purchase.opened', 'purchase.signed'])('at %s, somebody else goes on', async (place) => {
    const ada = await world.newRich(1_500_000n);
    await expect(world.buy(ada, { key: 'k', ...endAt(place) })).rejects.toThrow(Ended);
    const id = await onlyPurchase(ada.id);
    expect(paymentsSeen()).toBe(0);
    await world.advance(id);
    expect(paymentsSeen()).toBe(1);
    await isPaid(id);
    expect(await world.buy(ada, { key: 'k' })).toMatchObject({
      answer: { body: 'goods', payment: { id } },
      replayed: true,
    });
    expect(await world.balance(ada)).toBe(1_400_000n);
  });

  test('before the seller was asked and it is too late for that, the money is back', async () => {
    const ada = await world.newRich(1_500_000n);
    await expect(world.buy(ada, endAt('purchase.signed'))).rejects.toThrow(Ended);
    const id = await onlyPurchase(ada.id);
    // As if it had been offered long ago.
    await db.query('ALTER TABLE purchases DISABLE TRIGGER purchases_guard');
    await db.query('UPDATE purchases SET valid_before = 1 WHERE id = $1', [id]);
    await db.query('ALTER TABLE purchases ENABLE TRIGGER purchases_guard');
    await world.advance(id);
    expect(await world.look(id)).toMatchObject({
      status: 'returned',
      error: 'The payment could not be created in time.',
    });
    expect(await world.balance(ada)).toBe(1_500_000n);
    expect(paymentsSeen()).toBe(0);
  });

  const forALongTime = (id: string) =>
    db.query("UPDATE purchases SET asked_at = asked_at - interval '1 minute' WHERE id = $1", [id]);

  test('while the seller is asked, it is waited for, and a GET is asked again with the same payment', async () => {
    const ada = await world.newRich(1_500_000n);
    await expect(world.buy(ada, { key: 'k', ...endAt('purchase.sending') })).rejects.toThrow(Ended);
    const id = await onlyPurchase(ada.id);
    await world.advance(id);
    expect(await world.look(id)).toMatchObject({ status: 'sending', asks: 1 });
    expect(paymentsSeen()).toBe(0);
    await forALongTime(id);
    await world.advance(id);
    expect(await world.look(id)).toMatchObject({ asks: 2, sellerStatus: 200 });
    await isPaid(id);
    expect(await world.buy(ada, { key: 'k' })).toMatchObject({ answer: { body: 'goods' }, replayed: true });
  });

  test('while a seller is asked for what may not happen twice, the answer is lost and the chain tells', async () => {
    const ada = await world.newRich(1_500_000n);
    await expect(world.buy(ada, { key: 'k', method: 'POST', ...endAt('purchase.sending') })).rejects.toThrow(Ended);
    const id = await onlyPurchase(ada.id);
    await forALongTime(id);
    await world.advance(id);
    expect(await world.look(id)).toMatchObject({ status: 'settling', asks: 1, sellerTrouble: 'lost' });
    expect(await world.buy(ada, { key: 'k', method: 'POST' })).toMatchObject({ status: 504, code: 'seller_silent' });
    expect(paymentsSeen()).toBe(0);
    expect(await world.balance(ada)).toBe(1_400_000n);
    expect(await world.differences()).toEqual([]);
  });

  test('when the answer was just written down, it is answered again', async () => {
    const ada = await world.newRich(1_500_000n);
    await expect(world.buy(ada, { key: 'k', ...endAt('purchase.answered') })).rejects.toThrow(Ended);
    const id = await onlyPurchase(ada.id);
    expect(await world.buy(ada, { key: 'k' })).toMatchObject({ answer: { body: 'goods', payment: { id } } });
    expect(paymentsSeen()).toBe(1);
    await isPaid(id);
  });
});

test('two processes that go on with the same purchase show its payment once', async () => {
  const ada = await world.newRich(1_500_000n);
  await expect(world.buy(ada, endAt('purchase.opened'))).rejects.toThrow(Ended);
  const id = await onlyPurchase(ada.id);
  await Promise.all([1, 2, 3, 4].map(() => world.advance(id)));
  expect(paymentsSeen()).toBe(1);
  await isPaid(id);
});

test('reconciliation names a payment that the books have wrong', async () => {
  const ada = await world.newRich(1_500_000n);
  const bought = await world.buy(ada);
  await isPaid(idOf(bought));
  const { rows } = await db.query<{ authorizationNonce: string }>(
    'SELECT authorization_nonce FROM chain_step_leaves l JOIN chain_steps s ON s.id = l.step_id WHERE s.saga_id = $1',
    [idOf(bought)],
  );
  const nonce = rows[0]?.authorizationNonce;
  await db.query('UPDATE chain_step_leaves SET authorization_nonce = $2 WHERE authorization_nonce = $1', [
    nonce,
    `0x${'9'.repeat(64)}`,
  ]);
  expect(await world.reconciled()).toEqual([expect.stringMatching(/is complete, but its signature was not used\.$/)]);
  await db.query('UPDATE chain_step_leaves SET authorization_nonce = $2 WHERE authorization_nonce = $1', [
    `0x${'9'.repeat(64)}`,
    nonce,
  ]);
  expect(await world.reconciled()).toEqual([]);
});

test('an address on the deny list is paid nothing', async () => {
  const ada = await world.newRich(1_500_000n);
  const screening = { check: async () => ({ clear: false, reason: 'line 1' }) as const };
  expect(await world.buy(ada, { screening })).toMatchObject({ status: 403, code: 'seller_denied' });
  expect(await world.balance(ada)).toBe(1_500_000n);
});

test('an Idempotency-Key that was forgotten is anybody’s again, also for a purchase', async () => {
  const ada = await world.newRich(1_500_000n);
  const first = idOf(await world.buy(ada, { key: 'forgotten' }));
  await isPaid(first);
  await db.query("UPDATE ledger.idempotency_keys SET posted_at = now() - interval '49 hours'");
  await forgetKeysOlderThan(db, 48 * 3_600_000);
  const second = idOf(await world.buy(ada, { key: 'forgotten' }));
  expect(second).not.toBe(first);
  expect(idOf(await world.buy(ada, { key: 'forgotten' }))).toBe(second);
  expect(await world.balance(ada)).toBe(1_300_000n);
});

test('what a seller has sent is forgotten when its time is over', async () => {
  const ada = await world.newRich(1_500_000n);
  const id = idOf(await world.buy(ada));
  const kept = async () => (await db.query('SELECT FROM purchase_answers WHERE purchase_id = $1', [id])).rows.length;
  await forgetAnswers(db);
  expect(await kept()).toBe(1);
  await db.query("UPDATE purchase_answers SET kept_at = now() - interval '49 hours' WHERE purchase_id = $1", [id]);
  await forgetAnswers(db);
  expect(await kept()).toBe(0);
});

test('what a seller has taken is not given back because one node says that it was not', async () => {
  const { chains } = world.deposits;
  await world.fillFloat();
  const ada = await world.newRich(1_500_000n);
  const id = idOf(await world.buy(ada));
  // From here on its time is over, so that what was not taken never will be.
  await chains.rpc('MATIC', 'evm_increaseTime', [3_600]);
  await chains.mine('MATIC');
  await world.read();
  const [liar, honest] = [await startNode(chains, 'MATIC', 2), await startNode(chains, 'MATIC', 3)];
  const networks = new Map([['MATIC', networkOf(chains, 'MATIC', [liar.url, honest.url])] as const]);
  // The last word of what it is asked for is whether the signature was used.
  const deny = (result: string) => `${result.slice(0, -1)}0`;
  liar.misbehave(({ method }) => (method === 'eth_call' ? deny : undefined));
  await world.advance(id, { networks });
  expect((await world.look(id)).status).toBe('settling');
  expect(await world.balance(ada)).toBe(1_400_000n);
  liar.misbehave(() => undefined);
  await world.advance(id, { networks });
  expect((await world.look(id)).status).toBe('paid');
  expect(await world.reconciled()).toEqual([]);
});

test('what a seller may still take is not given back because one node says that its time is over', async () => {
  const { chains } = world.deposits;
  await world.fillFloat();
  const ada = await world.newRich(1_500_000n);
  let brought: BroughtPayment | undefined;
  sells(seller, termsOf(seller, { amount: '100000', maxTimeoutSeconds: 600 }), (payment, _asked, response) => {
    brought = payment;
    response.end('goods');
  });
  await world.buy(ada);
  const id = await onlyPurchase(ada.id);
  await world.read();
  const [liar, honest] = [await startNode(chains, 'MATIC', 2), await startNode(chains, 'MATIC', 3)];
  const networks = new Map([['MATIC', networkOf(chains, 'MATIC', [liar.url, honest.url])] as const]);
  const anHourLater = (block: { timestamp: Hex }) => ({ ...block, timestamp: toHex(BigInt(block.timestamp) + 3_600n) });
  liar.misbehave(({ method }) => (method === 'eth_getBlockByNumber' ? anHourLater : undefined));
  await world.advance(id, { networks });
  expect((await world.look(id)).status).toBe('settling');
  expect(await world.balance(ada)).toBe(1_400_000n);
  liar.misbehave(() => undefined);
  await facilitator.submit(brought as BroughtPayment);
  await isPaid(id);
  expect(await world.balance(ada)).toBe(1_400_000n);
  expect(await world.reconciled()).toEqual([]);
});

test('while no node answers, a call is refused for now, and nothing is taken', async () => {
  const { chains } = world.deposits;
  await world.fillFloat();
  const ada = await world.newRich(1_500_000n);
  const networks = new Map([['MATIC', networkOf(chains, 'MATIC', ['http://127.0.0.1:1'])] as const]);
  const refused = await world.buy(ada, { networks }).catch((error: unknown) => error);
  expect(refused).toMatchObject({ status: 503, code: 'unavailable' });
  expect(await world.balance(ada)).toBe(1_500_000n);
  expect(paymentsSeen()).toBe(0);
});
