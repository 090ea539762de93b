// @module-tag thorough
import { encodeFunctionData } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { expect, test } from 'vitest';
import { tokenAbi } from '../../../../src/chains/abi.ts';
import type { Reply } from '../../../support/client.ts';
import {
  askPrice,
  holdSettlements,
  pay,
  paymentHeader,
  quotePath,
  receiptsOf,
  sign,
  termsOf,
  usdc,
  useNano,
} from '../../../support/nano.ts';
import { until } from '../../../support/until.ts';

// What a stranger can make us spend on gas. Three calls on credit, and no more before one of them has arrived.
const { service, client, shop } = useNano({
  env: { NANO_CREDIT_PER_PAYER: '0.0003' },
});

interface ClaimRow {
  readonly id: string;
  readonly prepaid: boolean;
  readonly attempts: number;
  readonly failedTries: number;
  readonly served: boolean;
  readonly arrived: boolean;
}

async function claimsOf({ address }: PrivateKeyAccount): Promise<ClaimRow[]> {
  const { rows } = await service.database.db.query<ClaimRow>(
    `SELECT id, prepaid, attempts, failed_tries, served_at IS NOT NULL AS served, arrived_at IS NOT NULL AS arrived
       FROM payment_claims WHERE payer = lower($1) ORDER BY claimed_at`,
    [address],
  );
  return rows;
}

async function hasFailed({ address }: PrivateKeyAccount): Promise<boolean> {
  const { rows } = await service.database.db.query(
    'SELECT FROM payers WHERE address = lower($1) AND failed_since IS NOT NULL',
    [address],
  );
  return rows.length > 0;
}

const transfer = (from: PrivateKeyAccount, atomic: bigint) =>
  shop.send(from, {
    to: usdc,
    data: encodeFunctionData({
      abi: tokenAbi,
      functionName: 'transfer',
      args: ['0x000000000000000000000000000000000000bEEF', atomic],
    }),
  });
const lookNow = ({ address }: PrivateKeyAccount) =>
  service.database.db.query('UPDATE payment_claims SET retry_at = now() WHERE payer = lower($1)', [address]);
const isSettled = async (reply: Reply) => {
  const { paymentId } = receiptsOf(reply).second;
  return (await client.get(`/nano/payments/${paymentId}`)).body.status === 'settled';
};

test('a wallet signs for no more than it holds, however many payments it sends at once', async () => {
  const payer = await shop.payer(100n);
  const letSettle = await holdSettlements(service.database);
  const replies = await Promise.all(Array.from({ length: 30 }, () => pay(client, payer)));
  expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
  const refused = replies.filter(({ status }) => status === 402);
  expect(refused).toHaveLength(29);
  expect(new Set(refused.map((reply) => termsOf(reply).error))).toEqual(new Set(['insufficient_funds']));
  expect(await claimsOf(payer)).toHaveLength(1);
  await letSettle();
  await until('the one that it holds enough for to arrive', async () => (await claimsOf(payer))[0]?.arrived);
  expect(await claimsOf(payer)).toMatchObject([{ attempts: 1 }]);
});

test('a wallet that holds three calls is served three, before and after they are settled', async () => {
  const payer = await shop.payer(300n);
  const letSettle = await holdSettlements(service.database);
  const served = await Promise.all([1, 2, 3].map(() => pay(client, payer)));
  expect(served.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(termsOf(await pay(client, payer)).error).toBe('insufficient_funds');
  await letSettle();
  // The balance of a moment ago would allow it while the payments arrive.
  await until('all three to arrive', async () => {
    expect(termsOf(await pay(client, payer)).error).toBe('insufficient_funds');
    return (await claimsOf(payer)).every(({ arrived }) => arrived);
  });
  expect(await claimsOf(payer)).toHaveLength(3);
});

test('a payment that has moved and is not in the books yet counts once', async () => {
  const payer = await shop.payer(200n);
  const terms = await askPrice(client);
  const signed = await sign(payer, terms);
  const letSettle = await holdSettlements(service.database);
  await client.request('GET', quotePath, { headers: paymentHeader(signed, terms) });
  await letSettle();
  // Whether the first one is on the chain, in the books or in neither: there is enough for the second one.
  expect((await pay(client, payer)).status).toBe(200);
  await until('both to arrive', async () => (await claimsOf(payer)).every(({ arrived }) => arrived));
});

test('nothing is submitted for a wallet that was emptied, and it is collected once the wallet is filled', async () => {
  const payer = await shop.payer(100n);
  const letSettle = await holdSettlements(service.database);
  const reply = await pay(client, payer);
  await transfer(payer, 100n);
  await letSettle();
  await until('the wallet to be found empty', () => hasFailed(payer));
  await lookNow(payer);
  await until('it to be looked at again', async () => {
    const { rows } = await service.database.db.query(
      'SELECT FROM payment_claims WHERE payer = lower($1) AND retry_at > now()',
      [payer.address],
    );
    return rows.length > 0;
  });
  expect(await claimsOf(payer)).toMatchObject([{ served: true, attempts: 0, failedTries: 0 }]);
  // As soon as the balance from before is forgotten.
  await until(
    'it to be refused for want of funds',
    async () => termsOf(await pay(client, payer)).error === 'insufficient_funds',
  );
  await shop.mint(payer.address, 200n);
  expect(termsOf(await pay(client, payer)).error).toBe('payer_in_debt');
  await lookNow(payer);
  await until('it to be collected', () => isSettled(reply));
  expect((await pay(client, payer)).status).toBe(200);
});

test('what was served is settled before what was not', async () => {
  const payer = await shop.payer(400n);
  const letSettle = await holdSettlements(service.database);
  await Promise.all([1, 2, 3].map(() => pay(client, payer)));
  const terms = await askPrice(client);
  // It would be the most urgent of all.
  const soon = { validBefore: BigInt(Math.floor(Date.now() / 1_000)) + 100n };
  const headers = { ...paymentHeader(await sign(payer, terms, { changes: soon }), terms), prefer: 'wait=0' };
  expect((await client.request('GET', quotePath, { headers })).status).toBe(202);
  await transfer(payer, 100n);
  await letSettle();
  await until('what was served to arrive', async () =>
    (await claimsOf(payer)).every(({ prepaid, arrived }) => prepaid || arrived),
  );
  expect((await claimsOf(payer)).filter(({ prepaid }) => prepaid)).toMatchObject([{ arrived: false, attempts: 0 }]);
});

test('a wallet that was refused while it was empty is served as soon as it is filled', async () => {
  const payer = await shop.payer(0n);
  expect(termsOf(await pay(client, payer)).error).toBe('insufficient_funds');
  await shop.mint(payer.address, 100n);
  expect((await pay(client, payer)).status).toBe(200);
});
