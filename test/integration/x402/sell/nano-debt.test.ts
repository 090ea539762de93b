// @module-tag thorough
import type { PrivateKeyAccount } from 'viem/accounts';
import { describe, expect, test } from 'vitest';
import { Ended } from '../../../../src/kernel/sagas/checkpoint.ts';
import type { Reply } from '../../../support/client.ts';
import {
  askPrice,
  debtPath,
  holdSettlements,
  pay,
  paymentHeader,
  quotePath,
  receiptsOf,
  sign,
  termsOf,
  useNano,
  validForLong,
} from '../../../support/nano.ts';
import { until } from '../../../support/until.ts';

// Who is to blame for a call that was not paid.
let diesAt: string | undefined;
const { service, client, shop, reaches, expectSound } = useNano({
  checkpoint(name) {
    if (name === diesAt) throw new Ended(name);
  },
});

const payLater = (payer: PrivateKeyAccount) => pay(client, payer, validForLong());

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
  const payNothing = async (payer: PrivateKeyAccount) => {
    const signed = await sign(payer, terms, { changes: { atomic: 0n } });
    return client.request('GET', debtPath(payer), { headers: paymentHeader(signed, terms) });
  };
  const replies = await Promise.all(payers.flatMap((payer) => [payNothing(payer), pay(client, payer)]));
  expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
  expect((await payNothing(await shop.payer(0n))).body).toMatchObject({ debt: '0' });
});

test('a stranger is served no more on credit than is submitted at once: what waits for its turn could lapse unpaid', async () => {
  const payer = await shop.payer(10_000n);
  const letSettle = await holdSettlements(service.database);
  const terms = await askPrice(client);
  const call = async () =>
    client.request('GET', quotePath, {
      headers: { ...paymentHeader(await sign(payer, terms, validForLong()), terms), prefer: 'wait=0' },
    });
  const replies = await Promise.all(Array.from({ length: 12 }, call));
  expect(replies.map(({ status }) => status).toSorted()).toEqual([...Array(10).fill(200), 202, 202]);
  await letSettle();
  await until('all to arrive', async () => (await shop.held(payer.address)) === 8_800n);
  expect((await call()).status).toBe(200);
});
