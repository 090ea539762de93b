import { randomUUID } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { catalog, variantsOf } from '../../../sandbox/shop/catalog.ts';
import { type OpenShopsOptions, openShops } from '../../../sandbox/shop/open-shops.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { createSigningKey } from '../../../src/kernel/signing/signing-key.ts';
import { openDemoShop } from '../../support/demo-shop.ts';
import { oneOfMany } from '../../support/matrix.ts';
import { startPayingService, type UcpVersion } from '../../support/paying-service.ts';
import { address, codesOf, createShopClient, paymentWith, totalOf } from '../../support/shop-client.ts';
import { complaintsAboutCheckout, complaintsAboutProfile, complaintsAboutRequest } from '../../support/ucp-schemas.ts';
import { until } from '../../support/until.ts';

const versions: UcpVersion[] = ['2026-08-25', '2026-04-08'];
const mug = '101-1';
/** The one thing with a price in euros. */
const [{ itemId: postcard } = missing()] = variantsOf(catalog.find(({ currency }) => currency === 'EUR') ?? missing());
const mugSlug = 'stoneware-mug-sea';

function missing(): never {
  throw new Error('the demo shop has nothing in euros');
}

interface ShownProfile {
  readonly ucp: { readonly capabilities: Readonly<Record<string, unknown>>; readonly payment_handlers: object };
  readonly keys: readonly object[];
  readonly signing_keys: readonly object[];
}

async function readProfile(shopUrl: string, path = '/.well-known/ucp'): Promise<ShownProfile> {
  return (await (await fetch(`${shopUrl}${path}`)).json()) as ShownProfile;
}

const folder = mkdtempSync(join(tmpdir(), 'paywright-shop-'));
const closers: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  await Promise.all(closers.map((close) => close()));
  rmSync(folder, { recursive: true, force: true });
});

async function open(more: Partial<OpenShopsOptions> = {}) {
  const opened = await openDemoShop(more);
  closers.push(opened.close);
  return opened;
}

const world = await open();
const { service, switches } = world;
const client = world.clientOf();
afterEach(async () => {
  service.answerWith();
  service.asked.length = 0;
  switches.behave();
  await switches.setProduct(mugSlug, { cents: 2_400, stock: 1_000 });
});

describe.each(versions)('the demo shop by UCP %s', (version) => {
  const buyer = world.clientOf(version);

  test('says in its profile how one buys and pays', async () => {
    const path = version === '2026-08-25' ? '/.well-known/ucp' : `/.well-known/ucp/${version}`;
    const profile = await readProfile(world.shopUrl(), path);
    expect(complaintsAboutProfile(version, profile)).toEqual([]);
    expect(profile.ucp.capabilities['dev.ucp.shopping.fulfillment']).toMatchObject([
      { version, extends: 'dev.ucp.shopping.checkout' },
    ]);
    expect(profile.ucp.payment_handlers).toEqual({
      'localhost.paywright': [
        {
          id: 'paywright',
          version: '2026-11-15',
          spec: `${service.url}/.well-known/ucp/handlers/paywright`,
          schema: `${service.url}/.well-known/ucp/handlers/paywright.json`,
          available_instruments: [{ type: 'paywright_balance' }],
          config: { environment: 'sandbox', business: 'demo-shop.example' },
        },
      ],
    });
    expect(profile.keys).toEqual([expect.objectContaining({ kty: 'EC', crv: 'P-256', alg: 'ES256' })]);
    expect(profile.signing_keys).toEqual(profile.keys);
    expect(JSON.stringify(profile)).not.toContain('"d":');
  });

  test('sells from the first question to the order on its page', async () => {
    const created = await buyer.create(mug, { quantity: 2 });
    expect(created).toMatchObject({
      status: 201,
      body: {
        status: 'incomplete',
        currency: 'USD',
        fulfillment: { methods: [{ selected_destination_id: 'dest_1' }] },
      },
    });
    expect(codesOf(created.body)).toEqual(['option_required']);
    expect(created.body.fulfillment.methods[0]?.groups[0]?.options).toMatchObject([
      { id: 'standard' },
      { id: 'express' },
    ]);
    expect(created.body.ucp.payment_handlers).toHaveProperty('localhost.paywright');

    const { id } = created.body;
    const updated = await buyer.update(id, mug, { quantity: 2, option: 'express' });
    expect(updated.body).toMatchObject({
      status: 'ready_for_complete',
      continue_url: `${world.shopUrl()}/checkout/${id}`,
      totals: [
        { type: 'subtotal', amount: 4_800 },
        { type: 'fulfillment', amount: 900 },
        { type: 'total', amount: 5_700 },
      ],
    });
    expect(updated.body).not.toHaveProperty('messages');

    const completed = await buyer.complete(id, { token: 'tok_0123456789' });
    expect(completed).toMatchObject({ status: 200, body: { status: 'completed', order: { id: expect.any(String) } } });
    expect(completed.body).not.toHaveProperty('continue_url');
    expect(JSON.stringify(completed.body), 'a credential is never told again').not.toContain('tok_');
    expect(service.asked).toEqual([
      {
        key: expect.stringMatching(/^[0-9a-f-]{36}$/),
        verified: true,
        body: { token: 'tok_0123456789', checkout_id: id, amount: 5_700, currency: 'USD' },
      },
    ]);
    expect((await buyer.show(id)).body).toEqual(completed.body);
    expect((await buyer.complete(id)).body.order).toEqual(completed.body.order);
    expect(service.asked, 'what is sold is not sold again').toHaveLength(1);

    const page = await (await fetch(completed.body.order?.permalink_url ?? '')).text();
    for (const text of ['Stoneware Mug, Sea', '2 × $24.00', '$57.00', 'Ada Lovelace, San Francisco']) {
      expect(page).toContain(text);
    }
    expect(page).not.toContain('1 Main St');
  });

  test('says what is missing, in a way that can be mended', async () => {
    const { body: bare } = await buyer.send('', { body: { line_items: [{ item: { id: mug }, quantity: 1 }] } });
    expect(codesOf(bare)).toEqual(['address_required']);
    const { postal_code: _, ...incomplete } = address;
    const { body: half } = await buyer.update(bare.id, mug, { to: incomplete as typeof address });
    expect(half.messages).toMatchObject([
      { code: 'address_incomplete', severity: 'recoverable', path: '$.fulfillment.methods[0].destinations[0]' },
    ]);
    expect(half.fulfillment.methods[0]?.groups).toEqual([]);
    const { body: nowhere } = await buyer.update(bare.id, mug, { to: { ...address, address_country: 'Atlantis' } });
    expect(codesOf(nowhere)).toEqual(['address_undeliverable']);
    const { body: pigeon } = await buyer.update(bare.id, mug, { option: 'pigeon' });
    expect(codesOf(pigeon)).toEqual(['option_required']);
    const early = await buyer.complete(bare.id);
    expect(early.body.status).toBe('incomplete');
    expect((await buyer.update(bare.id, mug)).body.status).toBe('ready_for_complete');
    expect(service.asked).toEqual([]);
  });

  test('has nothing to show for what it does not sell, or has never heard of', async () => {
    for (const itemId of ['101', '999-1']) {
      const { status, body } = await buyer.create(itemId);
      expect({ status, body }).toMatchObject({ status: 200, body: { ucp: { status: 'error' } } });
      expect(codesOf(body)).toEqual(['item_unavailable']);
    }
    const { body: mixed } = await buyer.send('', {
      body: { line_items: [mug, postcard].map((id) => ({ item: { id }, quantity: 1 })) },
    });
    expect(codesOf(mixed)).toEqual(['item_unavailable']);
    for (const id of ['chk_unknown', (await world.clientOf(other(version)).create(mug)).body.id]) {
      expect(codesOf((await buyer.show(id)).body)).toEqual(['not_found']);
      expect(codesOf((await buyer.complete(id)).body)).toEqual(['not_found']);
    }
  });

  test('cancels what nobody has paid, and nothing else', async () => {
    const id = await buyer.ready(mug);
    expect((await buyer.cancel(id)).body.status).toBe('canceled');
    expect((await buyer.complete(id)).body.status).toBe('canceled');
    expect((await buyer.update(id, mug)).body.status).toBe('canceled');

    const sold = await buyer.ready(mug);
    await buyer.complete(sold);
    expect((await buyer.cancel(sold)).body.status).toBe('completed');
    expect(service.asked).toHaveLength(1);
  });
});

const other = (version: UcpVersion) => versions.find((one) => one !== version) ?? version;

describe.each(versions)('the schemas of UCP %s', { tags: ['ucp-schemas'] }, (version) => {
  test('find what is wrong', () => {
    expect(complaintsAboutProfile(version, { ucp: {} })).not.toEqual([]);
    expect(complaintsAboutCheckout(version, { id: 'chk_1' })).not.toEqual([]);
    expect(complaintsAboutRequest(version, 'create', {})).not.toEqual([]);
    expect(complaintsAboutRequest(version, 'complete', { ...paymentWith('tok'), line_items: [] })).not.toEqual([]);
    expect(complaintsAboutRequest(version, 'complete', paymentWith('tok'))).toEqual([]);
  });
});

describe('who asks', () => {
  const body = { line_items: [{ item: { id: mug }, quantity: 1 }] };
  const refusalOf = async (headers: Record<string, string>, agent = service) => {
    const { status, body: told } = await world.clientOf('2026-08-25', agent).send('', { body, headers });
    return [status, (told as unknown as { code: string }).code];
  };

  test('must say so, with a profile that can be read', async () => {
    expect(await refusalOf({ 'UCP-Agent': 'me' })).toEqual([400, 'invalid_profile_url']);
    expect(await refusalOf({ 'UCP-Agent': 'profile="ftp://127.0.0.1/x"' })).toEqual([400, 'invalid_profile_url']);
    expect(await refusalOf({ 'UCP-Agent': 'profile="https://evil.example/.well-known/ucp"' })).toEqual([
      403,
      'profile_not_trusted',
    ]);
    expect(await refusalOf({ 'UCP-Agent': 'profile="http://127.0.0.1:1/.well-known/ucp"' })).toEqual([
      424,
      'profile_unreachable',
    ]);
    const page = `${world.shops.closedShop.url}/`;
    expect(await refusalOf({ 'UCP-Agent': `profile="${page}"` })).toEqual([422, 'profile_malformed']);
    const leaf = `${service.url}/.well-known/ucp/2026-04-08`;
    expect(await refusalOf({ 'UCP-Agent': `profile="${leaf}"` })).toEqual([422, 'version_unsupported']);
    const silent = await fetch(`${world.shopUrl()}/ucp/2026-08-25/checkout-sessions/chk_x`);
    expect(silent.status).toBe(400);
  });

  test('must have signed what it changes', async () => {
    const url = `${world.shopUrl()}/ucp/2026-08-25/checkout-sessions`;
    const text = JSON.stringify(body);
    const post = async (headers: Record<string, string>, sent = text) => {
      const reply = await fetch(url, { method: 'POST', headers, body: sent });
      return [reply.status, ((await reply.json()) as { code: string }).code];
    };
    const unsigned = {
      'UCP-Agent': `profile="${service.url}/.well-known/ucp"`,
      'Idempotency-Key': randomUUID(),
      'Content-Type': 'application/json',
    };
    const signed = service.sign({ method: 'POST', url, headers: { 'Idempotency-Key': randomUUID() }, body: text });
    const elsewhere = service.sign({ method: 'POST', url: `${url}/x`, headers: unsigned, body: text });
    const withoutKey = service.sign({ method: 'POST', url, body: text });
    expect(await post(unsigned)).toEqual([401, 'signature_missing']);
    expect(await post({ ...signed, 'Idempotency-Key': randomUUID() })).toEqual([401, 'signature_invalid']);
    expect(await post(elsewhere)).toEqual([401, 'signature_invalid']);
    expect(await post(withoutKey), 'a key for idempotency is part of what is signed').toEqual([
      401,
      'signature_invalid',
    ]);
    expect(await post(signed, text.replace('1', '2'))).toEqual([400, 'digest_mismatch']);
    const stranger = { ...service, key: createSigningKey() };
    const input = String(signed['Signature-Input']).replace(service.key.kid, stranger.key.kid);
    expect(await post({ ...signed, 'Signature-Input': input })).toEqual([401, 'key_not_found']);
  });

  test('must be able to say where things go', async () => {
    const poor = await startPayingService({ shopUrl: world.shopUrl });
    closers.push(() => poor.close());
    poor.offer(['dev.ucp.shopping.checkout']);
    const { status, body: told } = await world.clientOf('2026-08-25', poor).create(mug);
    expect({ status, codes: codesOf(told) }).toEqual({ status: 200, codes: ['capabilities_incompatible'] });
  });
});

describe('a key for idempotency', () => {
  test('gets the same answer again, and is for one request only', async () => {
    const key = randomUUID();
    const first = await client.create(mug, { key });
    expect(await client.create(mug, { key })).toEqual(first);
    const another = await client.create(mug, { key, quantity: 2 });
    expect(another).toMatchObject({ status: 409, body: { code: 'idempotency_conflict' } });

    const { id } = first.body;
    await client.update(id, mug);
    expect(await client.complete(id, { key, token: 'tok_a_0123456789' })).toMatchObject({ status: 409 });
    const paying = { key: randomUUID(), token: 'tok_b_0123456789' };
    const [one, two] = await Promise.all([client.complete(id, paying), client.complete(id, paying)]);
    expect(one.body.status).toBe('completed');
    expect(two).toEqual(one);
    expect(await client.complete(id, paying)).toEqual(one);
    expect(service.asked).toHaveLength(1);
  });

  test.each(['', 'short'])('is asked for (%j)', async (key) => {
    expect(await client.send('', { body: {}, key })).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
  });
});

test.each([
  {},
  { line_items: [] },
  { line_items: [{ item: { id: mug }, quantity: 0 }] },
  { line_items: [{ item: { id: mug }, quantity: 1.5 }] },
  { line_items: [{ item: { id: 7 }, quantity: 1 }] },
  { line_items: [1, 2].map(() => ({ id: 'same', item: { id: mug }, quantity: 1 })) },
])('%j is no request', async (body) => {
  expect(await client.send('', { body })).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
});

describe('paying', () => {
  test.each([
    ['another handler', { handler_id: 'cards' }],
    ['another instrument', { type: 'card' }],
    ['no credential', { credential: undefined }],
    ['another credential', { credential: { type: 'pan', token: '4111111111111111' } }],
  ])('with %s does not pass', async (_what, more) => {
    const id = await client.ready(mug);
    const [instrument] = paymentWith('tok_0123456789').payment.instruments;
    const { body } = await client.send(`/${id}/complete`, {
      body: { payment: { instruments: [{ ...instrument, ...more }] } },
    });
    expect(codesOf(body)).toEqual(['payment_failed']);
    expect(body.status).toBe('ready_for_complete');
    expect(service.asked).toEqual([]);
  });

  test('that is refused puts the things back, and can be tried again', async () => {
    await switches.setProduct(mugSlug, { stock: 1 });
    const id = await client.ready(mug);
    service.answerWith(() => ({ status: 422, body: { code: 'credential_expired', detail: 'It has expired.' } }));
    const { body } = await client.complete(id);
    expect(body).toMatchObject({
      status: 'ready_for_complete',
      messages: [{ code: 'payment_failed', severity: 'recoverable', content: 'It has expired.' }],
    });
    service.answerWith();
    const again = await client.complete(id);
    expect(again.body.status).toBe('completed');
    expect(again.body).not.toHaveProperty('messages');
    expect(new Set(service.asked.map(({ key }) => key)).size, 'a new attempt has a new key').toBe(2);
  });

  test.each([
    ['a connection that ends', () => 'hang up' as const],
    ['500', () => ({ status: 500, body: {} })],
    ['429', () => ({ status: 429, body: {} })],
    ['a payment that is still under way', () => ({ status: 409, body: { code: 'idempotency_in_progress' } })],
    ['what nobody can read', () => ({ status: 200, body: 'yes' })],
    ['another amount', () => ({ status: 200, body: { status: 'redeemed', amount: 1 } })],
  ])('that is answered by %s is asked for again under the same key', async (_what, respond) => {
    await switches.setProduct(mugSlug, { stock: 1 });
    const id = await client.ready(mug);
    const paying = { key: randomUUID(), token: 'tok_0123456789' };
    service.answerWith(respond);
    const first = await client.complete(id, paying);
    expect(first.body.status).toBe('complete_in_progress');
    expect(first.body).not.toHaveProperty('order');
    expect((await client.update(id, mug)).body).toMatchObject({
      status: 'complete_in_progress',
      messages: [{ severity: 'recoverable' }],
    });
    expect((await client.cancel(id)).body.status).toBe('complete_in_progress');
    expect(codesOf((await client.create(mug)).body), 'what is being paid is not for sale').toContain('out_of_stock');

    service.answerWith();
    const shown = await until('the order', async () => {
      const { body } = await client.show(id);
      return body.status === 'completed' && body;
    });
    expect(shown.order?.id).toBeDefined();
    expect(new Set(service.asked.map(({ key }) => key)).size).toBe(1);
    expect(service.asked.length).toBeGreaterThan(1);
  });
});

for (const [word, count] of [
  ['a dozen', 12],
  ['a hundred', 100],
] as const) {
  const options = oneOfMany({ isRepresentative: count === 12 });
  test(`${word} completions of the last item at once sell one`, options, async () => {
    await switches.setProduct(mugSlug, { stock: 1 });
    const ids = await Promise.all(Array.from({ length: count }, () => client.ready(mug)));
    const answers = await Promise.all(ids.map((id) => client.complete(id)));
    const statuses = answers.map(({ body }) => body.status).sort();
    expect(statuses).toEqual(['completed', ...Array.from({ length: count - 1 }, () => 'incomplete')]);
    expect(new Set(answers.flatMap(({ body }) => codesOf(body)))).toEqual(new Set(['out_of_stock']));
    expect(service.asked).toHaveLength(1);

    const page = await (await fetch(`${world.shopUrl()}/products/${mugSlug}`)).text();
    expect(page).toContain('Sold out for now');
    const found = await fetch(`${world.shopUrl()}/ucp/2026-08-25/catalog/search`, {
      method: 'POST',
      body: JSON.stringify({ query: 'Stoneware Mug, Sea' }),
    });
    const { products } = (await found.json()) as { products: readonly object[] };
    expect(products[0]).toMatchObject({
      handle: mugSlug,
      variants: [{ id: mug, availability: { available: false, status: 'out_of_stock' } }],
    });
  });
}

describe('switched to be difficult', () => {
  test('it delivers nowhere', async () => {
    switches.behave({ refuseAddress: true });
    expect(codesOf((await client.create(mug)).body)).toEqual(['address_undeliverable']);
  });

  test.each(['create', 'complete'] as const)('it asks for the buyer at %s', async (askForBuyer) => {
    switches.behave({ askForBuyer });
    const { body: created } = await client.create(mug);
    const { body: updated } = await client.update(created.id, mug);
    const { body } = await client.complete(created.id);
    expect(created.status).toBe(askForBuyer === 'create' ? 'requires_escalation' : 'incomplete');
    expect(updated.status).toBe(askForBuyer === 'create' ? 'requires_escalation' : 'ready_for_complete');
    expect(body).toMatchObject({ status: 'requires_escalation', messages: [{ severity: 'requires_buyer_input' }] });
    expect((await fetch(body.continue_url ?? '')).status).toBe(200);
    expect(service.asked).toEqual([]);
  });

  test('its prices change before it is paid, and it says so before it takes anything', async () => {
    const id = await client.ready(mug);
    switches.behave({ raisePriceBy: 100 });
    const { body } = await client.complete(id);
    expect(body).toMatchObject({ status: 'ready_for_complete', messages: [{ code: 'price_changed' }] });
    expect(totalOf(body)).toBe(2_500);
    expect(service.asked).toEqual([]);
    await client.complete(id);
    expect(service.asked).toMatchObject([{ body: { amount: 2_500 } }]);
  });

  test('a price that was set is told at once', async () => {
    const id = await client.ready(mug);
    await switches.setProduct(mugSlug, { cents: 2_000 });
    expect(codesOf((await client.complete(id)).body)).toEqual(['price_changed']);
    expect(await (await fetch(`${world.shopUrl()}/products/${mugSlug}`)).text()).toContain('$20.00');
  });

  test('it asks for another amount, another currency, or twice', async () => {
    switches.behave({ redeemMore: 1, redeemCurrency: 'EUR', redeemTwice: true });
    await client.complete(await client.ready(mug));
    expect(service.asked).toMatchObject([
      { body: { amount: 2_401, currency: 'EUR' } },
      { body: { amount: 2_401, currency: 'EUR' } },
    ]);
    expect(new Set(service.asked.map(({ key }) => key)).size).toBe(2);
  });

  test('it takes the money and says that it did not', async () => {
    switches.behave({ refuseAfterRedeeming: true });
    const { body } = await client.complete(await client.ready(mug));
    expect({ status: body.status, codes: codesOf(body) }).toEqual({
      status: 'ready_for_complete',
      codes: ['payment_failed'],
    });
    expect(service.asked).toHaveLength(1);
  });

  test.each([
    ['never', (answer: Promise<unknown>) => Promise.race([answer, until('the order', sold)])],
    ['garbage', (answer: Promise<unknown>) => expect(answer).rejects.toThrow('JSON')],
    ['error', (answer: Promise<unknown>) => expect(answer).resolves.toMatchObject({ status: 500 })],
    ['twice', (answer: Promise<unknown>) => expect(answer).resolves.toMatchObject({ body: { status: 'completed' } })],
  ] as const)('it has an order, and answers %s', async (answer, meet) => {
    switches.behave({ answer });
    current = await client.ready(mug);
    const paying = { key: randomUUID(), token: 'tok_0123456789' };
    const answered = client.send(`/${current}/complete`, { key: paying.key, body: paymentWith(paying.token) });
    answered.catch(() => {});
    await meet(answered);
    expect((await client.show(current)).body.status).toBe('completed');
    expect((await client.complete(current, paying)).body.order, 'asked again').toBeDefined();
    expect(service.asked).toHaveLength(1);
  });

  let current = '';
  const sold = async () => (await client.show(current)).body.status === 'completed';

  test('it has an order, and answers late', { tags: ['matrix'] }, async () => {
    // So late that on the slowest machine there is time to see the order before.
    switches.behave({ answerLateMs: 4_000 });
    const id = await client.ready(mug);
    let answered = false;
    const answer = client.complete(id).then(() => {
      answered = true;
    });
    current = id;
    await until('the order', sold);
    expect(answered).toBe(false);
    await answer;
  });

  test('by whoever is on this machine', async () => {
    const url = `${world.shopUrl()}/switches`;
    const headers = { 'Content-Type': 'application/json' };
    const post = (body: object, more = {}) =>
      fetch(url, { method: 'POST', headers, body: JSON.stringify(body), ...more });
    const changed = await post({ behaviour: { answer: 'never' }, products: { [mugSlug]: { stock: 3, cents: 100 } } });
    expect(await changed.json()).toMatchObject({
      behaviour: { answer: 'never', refuseAddress: false },
      products: { [mugSlug]: { stock: 3, cents: 100 } },
    });
    expect(switches.behaviour.answer).toBe('never');
    expect(await (await fetch(url)).json()).toMatchObject({ behaviour: { answer: 'never' } });
    await post({ behaviour: {} });
    expect(switches.behaviour.answer).toBeNull();
    for (const wrong of [{ behaviour: { answer: 'maybe' } }, { products: { nothing: { stock: 1 } } }, { other: 1 }]) {
      expect((await post(wrong)).status).toBe(400);
    }
    expect((await post({ behaviour: {} }, { headers: {} })).status, 'a page in a browser').toBe(400);
  });
});

describe('what was decided', () => {
  test('outlives the shop, and what was being paid is paid', async () => {
    const dataDir = join(folder, 'first');
    const first = await open({ dataDir });
    const buyer = first.clientOf();
    await first.switches.setProduct(mugSlug, { cents: 1_900, stock: 2 });
    const sold = await buyer.ready(mug);
    const soldAnswer = await buyer.complete(sold, { key: '00000000-0000-4000-8000-000000000001', token: 'tok_1' });
    const paying = await buyer.ready(mug);
    first.service.answerWith(() => 'silence');
    const unanswered = buyer.complete(paying, { key: '00000000-0000-4000-8000-000000000002', token: 'tok_2' });
    unanswered.catch(() => {});
    await until('the shop to ask for its money', async () => first.service.asked.length === 2);
    const { keys } = await readProfile(first.shopUrl());

    // What is on the disk now is all that a shop has whose power went at this moment.
    const copy = join(folder, 'second');
    cpSync(join(dataDir, 'shop', 'journal.jsonl'), join(copy, 'shop', 'journal.jsonl'));
    first.service.answerWith();
    const again = await openShops({
      logger: createLogger('silent'),
      publicUrl: () => first.service.url,
      dataDir: copy,
    });
    closers.push(() => again.stop());
    const later = createShopClient({
      shopUrl: () => again.demoShop.url,
      service: first.service,
      version: '2026-08-25',
    });
    await until('the order', async () => (await later.show(paying)).body.status === 'completed');
    const [, asked, askedAgain] = first.service.asked;
    expect(askedAgain).toEqual({ ...asked, verified: true });
    expect((await readProfile(again.demoShop.url)).keys).toEqual(keys);

    const replayed = await later.complete(sold, { key: '00000000-0000-4000-8000-000000000001', token: 'tok_1' });
    expect(replayed).toEqual(soldAnswer);
    const resumed = await later.complete(paying, { key: '00000000-0000-4000-8000-000000000002', token: 'tok_2' });
    expect(resumed.body).toMatchObject({ status: 'completed', order: { id: 'HH-1002' } });
    expect(codesOf((await later.create(mug)).body)).toContain('out_of_stock');
    const page = await (await fetch(`${again.demoShop.url}/orders`)).text();
    expect(page.indexOf('HH-1002')).toBeLessThan(page.indexOf('HH-1001'));
    expect(page.indexOf('HH-1002')).toBeGreaterThan(0);
  });

  test('is decided by one of several processes, and another takes over', async () => {
    const dataDir = join(folder, 'shared');
    const first = await open({ dataDir });
    const second = await openShops({ logger: createLogger('silent'), publicUrl: () => first.service.url, dataDir });
    closers.push(() => second.stop());
    expect(second.switches).toBeUndefined();
    expect(second.demoShop.url).toBe(first.shopUrl());
    const id = await first.clientOf().ready(mug);
    await first.shops.stop();
    await until('the other to take over', async () => second.switches !== undefined);
    const buyer = createShopClient({
      shopUrl: () => second.demoShop.url,
      service: first.service,
      version: '2026-08-25',
    });
    expect((await buyer.show(id)).body.status).toBe('ready_for_complete');
    expect(second.names.get('demo-shop.example')?.port).toBe(Number(new URL(second.demoShop.url).port));
  });
});

test('the closed shop takes no orders', async () => {
  const { url } = world.shops.closedShop;
  for (const path of ['/.well-known/ucp', '/orders', '/switches', '/privacy', '/ucp/2026-08-25/checkout-sessions/x']) {
    expect((await fetch(`${url}${path}`)).status, path).toBe(404);
  }
  expect(await (await fetch(url)).text()).not.toContain('Orders');
});
