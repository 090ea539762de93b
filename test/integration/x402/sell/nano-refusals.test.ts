import { randomBytes } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { validateDiscoveryExtension } from '@x402/extensions/bazaar';
import type { Hex } from 'viem';
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { reasons } from '../../../../src/x402/sell/reasons.ts';
import { decodeHeader, encodeHeader } from '../../../../src/x402/wire/header.ts';
import type { Reply } from '../../../support/client.ts';
import {
  askPrice,
  type PaymentForm,
  pay,
  paymentHeader,
  quotePath,
  receiptsOf,
  type Signing,
  sign,
  type Terms,
  termsOf,
  useNano,
} from '../../../support/nano.ts';
import { until } from '../../../support/until.ts';

const denied = privateKeyToAccount(generatePrivateKey());
const denyList = join(mkdtempSync(join(tmpdir(), 'paywright-deny-')), 'list.txt');
writeFileSync(denyList, `${denied.address} # has stolen\n`);

// Nothing is settled while a test looks whether something was charged.
const { service, client, shop } = useNano({
  env: { NANO_PAYER_PER_MINUTE: '0', DENY_LIST_FILE: denyList },
  settings: { nano: { settleSeconds: 120 } },
});
let payer: PrivateKeyAccount;
let terms: Terms;
beforeAll(async () => {
  payer = await shop.payer(1_000_000n);
  terms = await askPrice(client);
});

/** Every refusal is of a payer whose claims are counted, so nothing may be left behind. */
afterEach(async () => {
  const { rows } = await service.database.db.query('SELECT FROM payment_claims WHERE served_at IS NULL');
  expect(rows).toHaveLength(0);
});

async function claimsOf({ address }: { readonly address: Hex }): Promise<number> {
  const { rows } = await service.database.db.query('SELECT FROM payment_claims WHERE payer = lower($1)', [address]);
  return rows.length;
}

/** The word in both versions, and its explanation. */
function expectRefused(reply: Reply, reason: keyof typeof reasons): void {
  expect(termsOf(reply).error).toBe(reason);
  expect(reply.body.detail).toBe(reasons[reason]);
  expect(decodeHeader(reply.headers.get('payment-required') ?? '')).toMatchObject({ x402Version: 2, error: reason });
  expect(reply.headers.get('payment-response')).toBeNull();
  expect(reply.headers.get('cache-control')).toBe('no-store');
}

const now = () => BigInt(Math.floor(Date.now() / 1_000));
const foreign = '0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174' as const;

describe.each([1, 2] as const)('a payment of version %i', (version) => {
  test.each<[string, () => Signing & PaymentForm, keyof typeof reasons]>([
    ['of too little', () => ({ changes: { atomic: 99n } }), 'invalid_exact_evm_payload_authorization_value_mismatch'],
    ['of too much', () => ({ changes: { atomic: 101n } }), 'invalid_exact_evm_payload_authorization_value_mismatch'],
    ['to somebody else', () => ({ changes: { to: payer.address } }), 'invalid_exact_evm_payload_recipient_mismatch'],
    [
      'that is over',
      () => ({ changes: { validBefore: now() - 1n } }),
      'invalid_exact_evm_payload_authorization_valid_before',
    ],
    [
      'that is over too soon to be settled',
      () => ({ changes: { validBefore: now() + 60n } }),
      'invalid_exact_evm_payload_authorization_valid_before',
    ],
    [
      'that could be tried for ever',
      () => ({ changes: { validBefore: 2n ** 256n - 1n } }),
      'invalid_exact_evm_payload_authorization_valid_before',
    ],
    [
      'that has not begun',
      () => ({ changes: { validAfter: now() + 60n } }),
      'invalid_exact_evm_payload_authorization_valid_after',
    ],
    [
      'signed by another key',
      () => ({ changes: { from: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359' } }),
      'invalid_exact_evm_payload_signature',
    ],
    [
      'signed for another token',
      () => ({ domain: { verifyingContract: foreign } }),
      'invalid_exact_evm_payload_signature',
    ],
    ['signed for another chain', () => ({ domain: { chainId: 1 } }), 'invalid_exact_evm_payload_signature'],
  ])('%s', async (_, how, reason) => {
    expectRefused(await pay(client, payer, { version, ...how() }), reason);
    expect(await claimsOf(payer)).toBe(0);
  });

  test('from a wallet that holds too little', async () => {
    const poor = await shop.payer(99n);
    expectRefused(await pay(client, poor, { version }), 'insufficient_funds');
    expect(await claimsOf(poor)).toBe(0);
  });

  test('from a wallet on the deny list', async () => {
    await shop.mint(denied.address, 1_000n);
    expectRefused(await pay(client, denied, { version }), 'payer_refused');
  });

  test('that the chain has seen already', async () => {
    const early = await shop.payer(1_000n);
    const signed = await sign(early, terms);
    const txHash = await shop.submit(signed);
    // What arrives while its claim is open is kept for it, and this is about a payment that nobody has claimed.
    await until('it to be booked', async () => {
      const { rows } = await service.database.db.query('SELECT FROM deposits WHERE tx_hash = $1', [txHash]);
      return rows.length > 0;
    });
    expectRefused(
      await client.request('GET', quotePath, { headers: paymentHeader(signed, terms, { version }) }),
      'invalid_exact_evm_nonce_already_used',
    );
    expect(await claimsOf(early)).toBe(0);
  });
});

describe('a payment', () => {
  const send = (headers: Record<string, string>, path = quotePath) => client.request('GET', path, { headers });

  test('with other terms than were offered', async () => {
    expectRefused(await pay(client, payer, { accepted: { asset: foreign } }), 'invalid_payment_requirements');
    expectRefused(await pay(client, payer, { accepted: { scheme: 'upto' } }), 'unsupported_scheme');
    expectRefused(await pay(client, payer, { accepted: { network: 'eip155:1' } }), 'invalid_network');
  });

  test.each([
    ['no base64', { 'payment-signature': '{}' }, 'invalid_payload'],
    ['nothing', { 'x-payment': '' }, 'invalid_payload'],
    [
      'JSON that is no payment',
      { 'payment-signature': encodeHeader({ x402Version: 2, payload: 1 }) },
      'invalid_payload',
    ],
    ['a list', { 'payment-signature': encodeHeader([]) }, 'invalid_x402_version'],
    ['another version', { 'payment-signature': encodeHeader({ x402Version: 3 }) }, 'invalid_x402_version'],
    [
      'the first version in the second header',
      { 'payment-signature': encodeHeader({ x402Version: 1 }) },
      'invalid_x402_version',
    ],
  ])('that is %s is a bad request', async (_, headers, code) => {
    expect(await send(headers)).toMatchObject({ status: 400, body: { code } });
  });

  test('whose header was tampered with is refused, whatever was changed', async () => {
    const signed = await sign(payer, terms);
    const [[name, header] = ['', '']] = Object.entries(paymentHeader(signed, terms));
    for (let place = 4; place < header.length; place += 97) {
      const other = header[place] === 'A' ? 'B' : 'A';
      const reply = await send({ [name]: `${header.slice(0, place)}${other}${header.slice(place + 1)}` });
      // What is changed outside of what was signed, such as a name in the terms, changes nothing.
      if (reply.status !== 200) expect([400, 402]).toContain(reply.status);
      else expect(receiptsOf(reply).second.payer).toBe(payer.address);
    }
    expect(await claimsOf(payer)).toBeLessThanOrEqual(1);
  });

  test('of a megabyte is refused, and the service goes on', async () => {
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const sent = request(`${service.url}/api${quotePath}`, { headers: { 'x-payment': 'A'.repeat(1_048_576) } });
      sent.once('response', (reply) => resolve(reply.resume().statusCode));
      sent.once('error', reject);
      sent.end();
    });
    expect(status).toBe(431);
    expect(await send({ 'x-payment': 'A'.repeat(9_000) })).toMatchObject({
      status: 400,
      body: { code: 'invalid_payload' },
    });
    expect((await client.get('/nano')).status).toBe(200);
  });

  test('that has paid for one request pays for no other', async () => {
    const buyer = await shop.payer(1_000n);
    const signed = await sign(buyer, terms);
    const headers = paymentHeader(signed, terms);
    expect((await send(headers)).status).toBe(200);
    expectRefused(await send(headers, quotePath.replace('50', '51')), 'invalid_exact_evm_nonce_already_used');
    expectRefused(await send(headers, '/nano/lookup?email=ada@example.com'), 'invalid_exact_evm_nonce_already_used');
    expect(await claimsOf(buyer)).toBe(1);
  });

  test('of a wallet that we hold ourselves is never taken', async () => {
    const { db } = service.database;
    const { handle } = await client.register();
    const [house, user] = [await shop.payer(1_000n), await shop.payer(1_000n)];
    await db.query(
      `INSERT INTO house_wallets (id, purpose, chain, provider, provider_ref, address, retired_at)
       VALUES ('wal_test', 'purchases', 'MATIC', 'keys', 'test', $1, now())`,
      [house.address],
    );
    await db.query(
      `INSERT INTO wallets (id, account_id, chain, provider, provider_ref, address, retired_at)
       SELECT 'wal_user', id, 'MATIC', 'keys', 'test-user', $1, now() FROM accounts WHERE handle = $2`,
      [user.address, handle],
    );
    expectRefused(await pay(client, house), 'payer_refused');
    expectRefused(await pay(client, user), 'payer_refused');
  });

  test('for a call that fails costs nothing, and pays for another', async () => {
    const buyer = await shop.payer(1_000n);
    const searched = await askPrice(client, '/nano/search');
    const signed = await sign(buyer, searched);
    const headers = paymentHeader(signed, searched);
    const failed = await send(headers, '/nano/search?q=mug&website=no-such-shop.example');
    expect(failed).toMatchObject({ status: 502, body: { code: 'merchant_unreachable' } });
    expect(failed.headers.get('payment-response')).toBeNull();
    expect(await claimsOf(buyer)).toBe(0);
    expect((await send(headers, '/nano/search?q=mug&website=demo-shop.example')).status).toBe(200);
  });
});

describe('a payment-identifier', () => {
  const identifier = () => `pay_${randomBytes(16).toString('hex')}`;

  test('finds the answer again, and is nobody else’s', async () => {
    const buyer = await shop.payer(1_000n);
    const named = identifier();
    const signed = await sign(buyer, terms);
    const send = (path: string, how: PaymentForm & { by?: typeof signed }) =>
      client.request('GET', path, { headers: paymentHeader(how.by ?? signed, terms, how) });
    const first = await send(quotePath, { identifier: named });
    const again = await send(quotePath, { identifier: named });
    expect(again.body).toEqual(first.body);
    expect(receiptsOf(again).second).toEqual(receiptsOf(first).second);
    const conflict = { status: 409, body: { code: 'payment_identifier_conflict' } };
    expect(await send(quotePath.replace('50', '51'), { identifier: named })).toMatchObject(conflict);
    expect(await send(quotePath, { identifier: named, by: await sign(buyer, terms) })).toMatchObject(conflict);
    expect(await claimsOf(buyer)).toBe(1);
    const other = await shop.payer(1_000n);
    expect((await pay(client, other, { identifier: named })).status).toBe(200);
  });

  test('has its form', async () => {
    const reply = await pay(client, payer, { identifier: 'too short' });
    expect(reply).toMatchObject({ status: 400, body: { code: 'invalid_payload' } });
  });

  test('is offered, beside what catalogues are told', async () => {
    const { headers } = await client.get('/nano/search');
    const { extensions } = decodeHeader(headers.get('payment-required') ?? '') as {
      extensions: Record<string, unknown>;
    };
    expect(extensions['payment-identifier']).toMatchObject({ info: { required: false } });
    expect(validateDiscoveryExtension(extensions['bazaar'] as never)).toEqual({ valid: true });
  });
});
