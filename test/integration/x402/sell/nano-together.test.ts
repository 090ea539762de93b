import { expect, test } from 'vitest';
import { askPrice, paymentHeader, quotePath, receiptsOf, sign, useNano } from '../../../support/nano.ts';

const { service, client, shop, expectSound } = useNano();

test('of many payments that come together each is judged for itself and claimed once', async () => {
  const terms = await askPrice(client);
  const payers = await Promise.all(Array.from({ length: 5 }, () => shop.payer(800n)));
  const [first, second] = payers;
  if (first === undefined || second === undefined) throw new Error('nobody pays');
  const good = await Promise.all(payers.flatMap((payer) => Array.from({ length: 8 }, () => sign(payer, terms))));
  // Signed by another wallet than the one it is from.
  const forged = await Promise.all([1, 2, 3].map(() => sign(first, terms, { changes: { from: second.address } })));
  const send = (signed: (typeof good)[number]) =>
    client.request('GET', quotePath, { headers: paymentHeader(signed, terms) });

  const [served, repeated, refused] = await Promise.all([
    Promise.all(good.map(send)),
    Promise.all(good.slice(0, 4).map(send)),
    Promise.all(forged.map(send)),
  ]);

  expect([...served, ...repeated].map(({ status }) => status)).toEqual(Array.from({ length: 44 }, () => 200));
  expect(refused.map(({ body }) => body.error)).toEqual(forged.map(() => 'invalid_exact_evm_payload_signature'));
  const ids = served.map((reply) => receiptsOf(reply).second.paymentId);
  expect(new Set(ids).size).toBe(good.length);
  expect(repeated.map((reply) => receiptsOf(reply).second.paymentId)).toEqual(ids.slice(0, 4));
  const { rows } = await service.database.db.query('SELECT id FROM payment_claims');
  expect(rows).toHaveLength(good.length);
  // Everything that the wallets held was signed for, and arrives.
  await expectSound();
  for (const payer of payers) expect(await shop.held(payer.address)).toBe(0n);
});
