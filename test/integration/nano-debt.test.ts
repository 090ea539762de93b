import { toHex } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { features } from '../../src/app/features.ts';
import { sagasOf } from '../../src/app/listed-feature.ts';
import { Ended } from '../../src/checkpoint.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { reconcile } from '../../src/reserves/reconcile.ts';
import { wakeSaga } from '../../src/sagas/wake-saga.ts';
import { houseWallet } from '../../src/wallets/house-wallets.ts';
import type { Client, Reply } from '../support/client.ts';
import {
  askPrice,
  holdSettlements,
  openShopfront,
  pay,
  paymentHeader,
  quotePath,
  receiptsOf,
  type Shopfront,
  sign,
  termsOf,
} from '../support/nano.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';

// Who is to blame for a call that was not paid.
let diesAt: string | undefined;
const service = useService({
  env: { NANO_SETTLE_SECONDS: '1', NANO_PAYER_PER_MINUTE: '0' },
  checkpoint(name) {
    if (name === diesAt) throw new Ended(name);
  },
});
let shop: Shopfront;
let client: Client;
beforeAll(async () => {
  client = service.client;
  shop = await openShopfront(service.database);
});
afterEach(() => service.database.db.query('DROP TRIGGER IF EXISTS held ON payment_claims'));

const reaches = (reply: Reply, status: string) =>
  until(`a payment to be ${status}`, async () => {
    const { paymentId } = receiptsOf(reply).second;
    return (await client.get(`/nano/payments/${paymentId}`)).body.status === status;
  });
/** The chain's clock is ahead of ours after a test has let time pass. */
const later = { changes: { validBefore: BigInt(Math.floor(Date.now() / 1_000)) + 10_700n } };
const payLater = (payer: PrivateKeyAccount) => pay(client, payer, later);
const debtPath = ({ address }: PrivateKeyAccount) => `/nano/debt/${address}`;

async function expectSound(): Promise<void> {
  const { db } = service.database;
  await until('everything to be earned', async () => {
    const { rows } = await db.query(
      'SELECT FROM payment_claims WHERE served_at IS NOT NULL AND earned_at IS NULL AND written_off_at IS NULL',
    );
    return rows.length === 0;
  });
  expect((await verifyLedger(db)).problems).toEqual([]);
  expect(await reconcile({ db, networks: shop.networks, sagas: sagasOf(features) })).toEqual([]);
}

describe('a payer who is to blame', () => {
  /** Is served, and cancels the payment. */
  async function cheat(payer: PrivateKeyAccount): Promise<Reply> {
    const terms = await askPrice(client);
    const signed = await sign(payer, terms);
    const letSettle = await holdSettlements(service.database);
    const reply = await client.request('GET', quotePath, { headers: paymentHeader(signed, terms) });
    await shop.cancel(payer, signed.nonce);
    await letSettle();
    await reaches(reply, 'written_off');
    return reply;
  }

  test('is told what to pay and where, pays it once, and is served again', async () => {
    const payer = await shop.payer(1_000n);
    await cheat(payer);
    const refused = await pay(client, payer);
    expect(termsOf(refused).error).toBe('payer_in_debt');
    expect(refused.body.detail).toContain('GET /api/nano/debt/');

    const path = debtPath(payer);
    const terms = termsOf(await client.get(path));
    expect(terms.second).toMatchObject({ amount: '100' });
    expect(terms.first.resource).toBe(`${service.url}/api${path}`);
    const signed = await sign(payer, terms);
    const headers = { ...paymentHeader(signed, terms), prefer: 'wait=0' };
    const paid = await until('the debt to be paid', async () => {
      const reply = await client.request('GET', path, { headers });
      if (reply.status !== 202) return reply;
      // One payment of it is under way, and no other is taken.
      const other = await client.request('GET', path, { headers: paymentHeader(await sign(payer, terms), terms) });
      if (other.status === 402) expect(termsOf(other).error).toBe('debt_mismatch');
      else expect(other).toMatchObject({ status: 200, body: { debt: '0' } });
      return undefined;
    });
    expect(paid).toMatchObject({ status: 200, body: { payer: payer.address, debt: '0', uncollected: '0' } });
    expect(receiptsOf(paid).second).toMatchObject({ success: true, payer: payer.address });
    expect((await client.request('GET', path, { headers })).body).toEqual(paid.body);
    expect((await client.get(path)).body).toMatchObject({ debt: '0' });
    expect(await shop.held(payer.address)).toBe(900n);

    expect((await pay(client, payer)).status).toBe(200);
    await expectSound();
  });

  test('pays exactly what it owes, from the wallet that owes it', async () => {
    const [payer, other] = [await shop.payer(1_000n), await shop.payer(1_000n)];
    await cheat(payer);
    const terms = termsOf(await client.get(debtPath(payer)));
    const send = async (from: PrivateKeyAccount, atomic: bigint) =>
      client.request('GET', debtPath(payer), {
        headers: paymentHeader(await sign(from, terms, { changes: { atomic } }), terms),
      });
    expect(termsOf(await send(payer, 99n)).error).toBe('invalid_exact_evm_payload_authorization_value_mismatch');
    expect(termsOf(await send(other, 100n)).error).toBe('debt_mismatch');
    expect((await client.get(debtPath(other))).body).toMatchObject({ debt: '0' });
    expect(await client.get('/nano/debt/0x12')).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
  });

  test('is tried only so often when its payment fails on the chain', async () => {
    const { db } = service.database;
    const payer = await shop.payer(100n);
    const letSettle = await holdSettlements(service.database);
    const reply = await pay(client, payer);
    await db.query('UPDATE payment_claims SET failed_tries = 3, payer_failed_at = now() WHERE payer = lower($1)', [
      payer.address,
    ]);
    await letSettle();
    // One that is paid later is settled, and it is not.
    const honest = await pay(client, await shop.payer(100n));
    await reaches(honest, 'settled');
    await shop.passTime(700);
    await reaches(reply, 'written_off');
    expect(termsOf(await client.get(debtPath(payer))).second).toMatchObject({ amount: '100' });
  });
});

test('a payer who has paid is served again, also when the last thing that was open is forgotten', async () => {
  const { db } = service.database;
  const payer = await shop.payer(1_000n);
  const letSettle = await holdSettlements(service.database);
  const first = await payLater(payer);
  diesAt = 'nano.claimed';
  expect((await payLater(payer)).status).not.toBe(200);
  diesAt = undefined;
  await shop.empty(payer);
  await letSettle();
  await until('the wallet to be short', async () => (await client.get(debtPath(payer))).body.uncollected !== '0');
  await shop.mint(payer.address, 1_000n);
  await db.query('UPDATE payment_claims SET retry_at = NULL WHERE payer = lower($1)', [payer.address]);
  await reaches(first, 'settled');
  await db.query(
    "UPDATE payment_claims SET leased_until = now() - interval '2 minutes' WHERE leased_until IS NOT NULL",
  );
  await until('it to be forgotten', async () => {
    const { rowCount } = await db.query('SELECT FROM payment_claims WHERE payer = lower($1)', [payer.address]);
    return rowCount === 1;
  });
  expect((await payLater(payer)).status).toBe(200);
});

test('a payment of nothing is refused, and fails nobody who pays at the same moment', async () => {
  const payers = await Promise.all(Array.from({ length: 5 }, () => shop.payer(100n)));
  const terms = await askPrice(client);
  const nothing = await Promise.all(
    payers.map(async (payer) => {
      const signed = await sign(payer, terms, { changes: { atomic: 0n } });
      return () => client.request('GET', debtPath(payer), { headers: paymentHeader(signed, terms) });
    }),
  );
  const replies = await Promise.all(payers.flatMap((payer, place) => [nothing[place]?.(), pay(client, payer)]));
  expect(replies.map((reply) => reply?.status)).toEqual(replies.map(() => 200));
  expect((await nothing[0]?.())?.body).toMatchObject({ debt: '0' });
});

test('a stranger is served no more on credit than is submitted at once: what waits for its turn could lapse unpaid', async () => {
  const payer = await shop.payer(10_000n);
  const letSettle = await holdSettlements(service.database);
  const terms = await askPrice(client);
  const call = async () =>
    client.request('GET', quotePath, {
      headers: { ...paymentHeader(await sign(payer, terms, later), terms), prefer: 'wait=0' },
    });
  const replies = await Promise.all(Array.from({ length: 12 }, call));
  expect(replies.map(({ status }) => status).toSorted()).toEqual([...Array(10).fill(200), 202, 202]);
  await letSettle();
  await until('all to arrive', async () => (await shop.held(payer.address)) === 8_800n);
  expect((await call()).status).toBe(200);
});

test('nothing is served on credit while what was served is overdue', async () => {
  const { db } = service.database;
  const payer = await shop.payer(100_000n);
  const letSettle = await holdSettlements(service.database);
  const onCredit = await payLater(payer);
  expect(onCredit.status).toBe(200);
  const { paymentId } = receiptsOf(onCredit).second;
  // As it is when nobody settles it for a minute: no worker takes it.
  await db.query('ALTER TABLE payment_claims DISABLE TRIGGER payment_claims_guard');
  await db.query(
    "UPDATE payment_claims SET served_at = now() - interval '1 minute', retry_at = NULL, failed_tries = 3 WHERE id = $1",
    [paymentId],
  );
  await db.query('ALTER TABLE payment_claims ENABLE TRIGGER payment_claims_guard');
  const terms = await askPrice(client);
  const payNow = async () => {
    const headers = { ...paymentHeader(await sign(payer, terms, later), terms), prefer: 'wait=0' };
    return (await client.request('GET', quotePath, { headers })).status;
  };
  await until('payments to have to arrive first', async () => (await payNow()) === 202);
  expect(await payNow()).toBe(202);
  await db.query('UPDATE payment_claims SET failed_tries = 0 WHERE id = $1', [paymentId]);
  await letSettle();
  await until('it to be served on credit again', async () => (await payNow()) === 200);
});

describe('our own delay is no debt of the payer', () => {
  test('when nobody has looked at a payment before it lapsed', async () => {
    const payer = await shop.payer(1_000n);
    const letSettle = await holdSettlements(service.database);
    const reply = await pay(client, payer);
    await shop.passTime(700);
    await reaches(reply, 'written_off');
    await letSettle();
    expect((await client.get(debtPath(payer))).body).toMatchObject({ debt: '0', uncollected: '0' });
    const again = await payLater(payer);
    expect(again.status).toBe(200);
    await reaches(again, 'settled');
    await expectSound();
  });

  test('when the wallet that settles has no gas, and no gas is spent on what has lapsed', async () => {
    const { db } = service.database;
    const wallet = await houseWallet(db, 'settlement', 'MATIC');
    const gas = await shop.network.client.getBalance(wallet);
    const fill = (atomic: bigint) =>
      shop.network.client.request({
        method: 'hardhat_setBalance',
        params: [wallet.address, toHex(atomic)],
      } as never);
    await fill(0n);
    const payer = await shop.payer(1_000n);
    const reply = await payLater(payer);
    const settlement = await until('a transaction to be asked for in vain', async () => {
      const { rows } = await db.query<{ id: string }>(
        "SELECT id FROM settlements WHERE finished_at IS NULL AND waits_for LIKE '%gas%'",
      );
      return rows[0];
    });
    await shop.passTime(12_000);
    // As it is after an hour.
    await db.query("UPDATE settlements SET created_at = created_at - interval '1 hour' WHERE id = $1", [settlement.id]);
    await db.query("UPDATE chain_steps SET unanswered_at = unanswered_at - interval '1 hour' WHERE saga_id = $1", [
      settlement.id,
    ]);
    await fill(gas);
    await wakeSaga(db, { saga: 'settlement', id: settlement.id, lane: 'MATIC' });
    await reaches(reply, 'written_off');
    const { rows } = await db.query('SELECT state, gas_cost, hash FROM chain_steps WHERE saga_id = $1', [
      settlement.id,
    ]);
    expect(rows).toMatchObject([{ state: 'failed', gas_cost: '0', hash: null }]);
    expect((await client.get(debtPath(payer))).body).toMatchObject({ debt: '0', uncollected: '0' });
    await expectSound();
  });
});
