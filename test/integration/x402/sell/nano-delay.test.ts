// @module-tag thorough
import { toHex } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { describe, expect, test } from 'vitest';
import { houseWallet } from '../../../../src/custody/wallets/house-wallets.ts';
import { wakeSaga } from '../../../../src/kernel/sagas/wake-saga.ts';
import {
  askPrice,
  debtPath,
  holdSettlements,
  pay,
  paymentHeader,
  quotePath,
  receiptsOf,
  sign,
  useNano,
  validForLong,
} from '../../../support/nano.ts';
import { until } from '../../../support/until.ts';

// What our own delay may not do to a payer.
const { service, client, shop, reaches, expectSound } = useNano();

const payLater = (payer: PrivateKeyAccount) => pay(client, payer, validForLong());

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
    const headers = { ...paymentHeader(await sign(payer, terms, validForLong()), terms), prefer: 'wait=0' };
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
    expect(rows).toMatchObject([{ state: 'failed', gasCost: 0n, hash: null }]);
    expect((await client.get(debtPath(payer))).body).toMatchObject({ debt: '0', uncollected: '0' });
    await expectSound();
  });
});
