// @module-tag thorough
import { afterEach, describe, expect, test, vi } from 'vitest';
import { main } from '../../../../src/app/cli.ts';
import { features } from '../../../../src/app/features.ts';
import { sagasOf } from '../../../../src/app/listed-feature.ts';
import { reconcile } from '../../../../src/custody/reserves/reconcile.ts';
import { houseWallet } from '../../../../src/custody/wallets/house-wallets.ts';
import { houseBalance } from '../../../../src/ledger/balances.ts';
import { verifyLedger } from '../../../../src/ledger/verify.ts';
import { homeChain } from '../../../../src/money/catalogue.ts';
import type { Reason } from '../../../../src/x402/sell/reasons.ts';
import { createClient, type Reply } from '../../../support/client.ts';
import {
  askPrice,
  holdSettlements,
  pay,
  paymentHeader,
  quotePath,
  receiptsOf,
  type Signing,
  sign,
  termsOf,
  useNano,
} from '../../../support/nano.ts';
import { startService } from '../../../support/service.ts';
import { until } from '../../../support/until.ts';

// Three calls on credit, and no more before one of them has arrived.
const options = {
  env: { NANO_PAYER_PER_MINUTE: '0', NANO_CREDIT_PER_PAYER: '0.0003' },
  settings: { nano: { settleSeconds: 2 } },
};
const { service, client, shop, reaches } = useNano(options);

const errorOf = (reply: Reply) => termsOf(reply).error;

async function booked(kind: 'fees' | 'receivables' | 'calls_in_transit'): Promise<bigint> {
  return (await houseBalance(service.database.db, kind, 'USDC', homeChain)).atomic;
}

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

/** What a command of the operator says, beside the running service. */
async function said(...args: string[]): Promise<string> {
  vi.stubEnv('DATABASE_URL', service.database.url);
  const written = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  await main(['node', 'paywright', ...args], process.ppid, features);
  const lines = written.mock.calls.map(([text]) => String(text)).join('');
  written.mockRestore();
  return lines;
}

async function expectSound(): Promise<void> {
  const { db } = service.database;
  const { reserves } = (await client.get('/reserves')).body;
  expect(reserves.map(({ difference }: { difference: string }) => difference)).toEqual(reserves.map(() => '0'));
  expect((await verifyLedger(db)).problems).toEqual([]);
  expect(await reconcile({ db, networks: shop.networks, sagas: sagasOf(features) })).toEqual([]);
}

test('many payments share one transaction, and each has its trail in the books', async () => {
  const { db } = service.database;
  const treasury = await houseWallet(db, 'treasury', 'MATIC');
  const before = { held: await shop.held(treasury.address), fees: await booked('fees') };
  const payers = await Promise.all(Array.from({ length: 4 }, () => shop.payer(300n)));
  const replies = await Promise.all(payers.flatMap((payer) => [1, 2, 3].map(() => pay(client, payer))));
  expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
  const settled = await Promise.all(replies.map((reply) => reaches(reply, 'settled')));
  // All that were served within the same two seconds, or just after them.
  expect(new Set(settled.map(({ transaction }) => transaction)).size).toBeLessThan(replies.length / 2);
  expect((await shop.held(treasury.address)) - before.held).toBe(1_200n);
  await until('all to be earned', async () => (await booked('fees')) - before.fees === 1_200n);
  expect(await booked('calls_in_transit')).toBe(0n);
  expect(await booked('receivables')).toBe(0n);
  const { rows } = await db.query<{ type: string; count: string }>(
    "SELECT type, count(*)::text FROM ledger.postings WHERE type LIKE 'call%' GROUP BY 1 ORDER BY 1",
  );
  expect(rows.find(({ type }) => type === 'call_served')).toEqual({ type: 'call_served', count: '12' });
  const again = await client.request('GET', '/nano/payments/npy_nothing');
  expect(again).toMatchObject({ status: 404, body: { code: 'payment_not_found' } });
  await expectSound();
});

test('what somebody else submits first is settled, by their transaction', async () => {
  const payer = await shop.payer(100n);
  const terms = await askPrice(client);
  const signed = await sign(payer, terms);
  const letSettle = await holdSettlements(service.database);
  const reply = await client.request('GET', quotePath, { headers: paymentHeader(signed, terms) });
  const hash = await shop.submit(signed);
  await letSettle();
  expect(await reaches(reply, 'settled')).toMatchObject({ transaction: hash });
  const replayed = await client.request('GET', quotePath, { headers: paymentHeader(signed, terms) });
  expect(replayed.body).toEqual(reply.body);
  expect(receiptsOf(replayed).second).toMatchObject({ success: true, transaction: hash });
});

test('beyond the credit of a payer a payment arrives first, and is served then', async () => {
  const { db } = service.database;
  const payer = await shop.payer(1_000n);
  const letSettle = await holdSettlements(service.database);
  const onCredit = await Promise.all([1, 2, 3].map(() => pay(client, payer)));
  const terms = await askPrice(client);
  const headers = paymentHeader(await sign(payer, terms), terms);
  const payBeyond = () => client.request('GET', quotePath, { headers });
  const asked = payBeyond();
  await until('it to be beyond the credit', async () => {
    const { rowCount } = await db.query('SELECT FROM payment_claims WHERE payer = lower($1)', [payer.address]);
    return rowCount === 4;
  });
  await letSettle();
  // Whoever is told that it takes a while sends the same again.
  const beyond =
    (await asked).status === 202
      ? await until('it to be served', async () => {
          const reply = await payBeyond();
          return reply.status !== 202 && reply;
        })
      : await asked;
  expect([...onCredit, beyond].map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  const { rows } = await db.query<{ prepaid: boolean; inOrder: boolean }>(
    'SELECT prepaid, arrived_at < served_at AS in_order FROM payment_claims WHERE id = $1',
    [receiptsOf(beyond).second.paymentId],
  );
  expect(rows).toEqual([{ prepaid: true, inOrder: true }]);
  const { transaction } = receiptsOf(beyond).second;
  expect(transaction).toMatch(/^0x/);
  expect(await reaches(beyond, 'settled')).toMatchObject({ served: true, transaction });
});

describe('a process that ends between claim and answer', () => {
  test('leaves the payment to the next request that brings it', async () => {
    const { db } = service.database;
    const payer = await shop.payer(100n);
    const terms = await askPrice(client);
    const headers = paymentHeader(await sign(payer, terms), terms);
    const first = await client.request('GET', quotePath, { headers });
    expect(first.status).toBe(200);
    const other = await sign(payer, terms);
    // As it is left behind: claimed by somebody who never answers.
    await db.query(
      `INSERT INTO payment_claims (id, protocol, chain, token, asset, payer, nonce, pay_to, atomic, valid_after, valid_before,
          signature, resource, fingerprint, prepaid, holder, leased_until)
       SELECT 'npy_left', protocol, chain, token, asset, payer, $2, pay_to, atomic, $3, $4, $5, resource, fingerprint, false,
              gen_random_uuid(), clock_timestamp() + interval '1 second'
         FROM payment_claims WHERE id = $1`,
      [receiptsOf(first).second.paymentId, other.nonce, other.validAfter, other.validBefore, other.signature],
    );
    await shop.mint(payer.address, 100n);
    const taken = await until('it to be taken over', async () => {
      const reply = await client.request('GET', quotePath, { headers: paymentHeader(other, terms) });
      return reply.status === 200 ? reply : undefined;
    });
    expect(receiptsOf(taken).second.paymentId).toBe('npy_left');
    expect(taken.body).toEqual(first.body);
  });

  test.each<[string, Signing['changes'], Reason]>([
    ['is over by then', { validBefore: 1_700_000_000n }, 'invalid_exact_evm_payload_authorization_valid_before'],
    ['the wallet does not hold any more', {}, 'insufficient_funds'],
  ])('leaves nobody a call for a payment that %s', async (_, changes, reason) => {
    const { db } = service.database;
    const payer = await shop.payer(100n);
    const terms = await askPrice(client);
    const first = await pay(client, payer);
    await reaches(first, 'settled');
    const identifier = `left-behind-${reason}`.slice(0, 60);
    const left = await sign(payer, terms, { changes: changes ?? {} });
    await db.query(
      `INSERT INTO payment_claims (id, protocol, chain, token, asset, payer, nonce, pay_to, atomic, valid_after, valid_before,
          signature, resource, fingerprint, identifier, prepaid, holder, leased_until)
       SELECT $6, protocol, chain, token, asset, payer, $2, pay_to, atomic, $3, $4, $5, resource, fingerprint, $6, false,
              gen_random_uuid(), clock_timestamp() - interval '1 second'
         FROM payment_claims WHERE id = $1`,
      [receiptsOf(first).second.paymentId, left.nonce, left.validAfter, left.validBefore, left.signature, identifier],
    );
    // Whether it is found by its nonce or by what its payer calls it.
    for (const form of [{}, { identifier }]) {
      const reply = await client.request('GET', quotePath, { headers: paymentHeader(left, terms, form) });
      expect(errorOf(reply)).toBe(reason);
    }
    const { rowCount } = await db.query('DELETE FROM payment_claims WHERE id = $1 AND served_at IS NULL', [identifier]);
    expect(rowCount).toBe(1);
  });

  test('and two processes serve a payment once', async () => {
    const second = await startService(service.database, options);
    const payer = await shop.payer(1_000n);
    const terms = await askPrice(client, '/nano/search');
    const headers = paymentHeader(await sign(payer, terms), terms);
    const path = '/nano/search?q=mug&website=demo-shop.example';
    const other = createClient(second.url);
    const replies = await Promise.all(
      Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? client : other).request('GET', path, { headers })),
    );
    await second.stop();
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
    expect(new Set(replies.map(({ body }) => body.previewUrl)).size).toBe(1);
  });
});

describe('a payer who does not pay', () => {
  test('is refused while a payment cannot be collected, and taken again when it was', async () => {
    const payer = await shop.payer(100n);
    const letSettle = await holdSettlements(service.database);
    const reply = await pay(client, payer);
    expect(reply.status).toBe(200);
    await shop.empty(payer);
    await letSettle();
    await until('it to be tried in vain', async () => {
      const { rows } = await service.database.db.query(
        'SELECT FROM payers WHERE address = lower($1) AND failed_since IS NOT NULL',
        [payer.address],
      );
      return rows.length > 0;
    });
    await shop.mint(payer.address, 200n);
    expect(errorOf(await pay(client, payer))).toBe('payer_in_debt');
    // It would be tried again a while later.
    await service.database.db.query('UPDATE payment_claims SET retry_at = now() WHERE payer = lower($1)', [
      payer.address,
    ]);
    await reaches(reply, 'settled');
    expect((await pay(client, payer)).status).toBe(200);
  });

  test('by a cancelled authorization is written off at once, and no other with it', { tags: ['matrix'] }, async () => {
    const [honest, other] = [await shop.payer(100n), await shop.payer(500n)];
    const terms = await askPrice(client);
    const signed = await sign(other, terms);
    const letSettle = await holdSettlements(service.database);
    const lost = await client.request('GET', quotePath, { headers: paymentHeader(signed, terms) });
    const paid = await pay(client, honest);
    await shop.cancel(other, signed.nonce);
    await letSettle();
    await reaches(lost, 'written_off');
    await reaches(paid, 'settled');
    expect(errorOf(await pay(client, other))).toBe('payer_in_debt');
    await expectSound();
  });

  test('with an empty wallet is written off within the credit, and refused until forgiven', {
    tags: ['matrix'],
  }, async () => {
    const { db } = service.database;
    const payer = await shop.payer(300n);
    const letSettle = await holdSettlements(service.database);
    const served = await Promise.all([1, 2, 3].map(() => pay(client, payer)));
    await shop.empty(payer);
    await letSettle();
    await until('all three to be looked at in vain', async () => {
      const { rowCount } = await db.query(
        'SELECT FROM payment_claims WHERE payer = lower($1) AND payer_failed_at IS NOT NULL',
        [payer.address],
      );
      return rowCount === 3;
    });
    await shop.passTime(700);
    for (const reply of served) await reaches(reply, 'written_off');
    expect(await booked('receivables')).toBe(0n);
    expect(await booked('calls_in_transit')).toBe(0n);
    const { rows } = await db.query("SELECT amount FROM ledger.postings WHERE type = 'call_written_off'");
    expect(rows.length).toBeGreaterThanOrEqual(3);
    await expectSound();

    await shop.mint(payer.address, 1_000n);
    const later = { changes: { validBefore: BigInt(Math.floor(Date.now() / 1_000)) + 3_000n } };
    expect(errorOf(await pay(client, payer, later))).toBe('payer_in_debt');
    expect(await said('nano', 'debtors')).toContain(`${payer.address.toLowerCase()}  0.0003 USDC written off`);
    expect(await said('nano', 'forgive', payer.address)).toContain('is cleared: 0.0003 USDC');
    const again = await pay(client, payer, later);
    expect(again.status).toBe(200);
    await reaches(again, 'settled');
  });
});
