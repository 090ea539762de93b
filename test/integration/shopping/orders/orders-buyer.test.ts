import { afterEach, describe, expect, test } from 'vitest';
import { useOrders } from '../../../support/orders.ts';
import {
  describeSession,
  type MerchantSession,
  startUcpMerchant,
  type UcpMerchant,
} from '../../../support/ucp-merchant.ts';
import { complaintsAboutRequest } from '../../../support/ucp-schemas.ts';
import { verifyEmail } from '../../../support/verify-email.ts';

const shop = await startUcpMerchant();
const addressless = {
  '2026-08-25': await startUcpMerchant({ ships: false }),
  '2026-04-08': await startUcpMerchant({ ships: false, version: '2026-04-08' }),
};
const shops = [shop, ...Object.values(addressless)];
const world = useOrders(shop, {
  env: { ALLOW_PRIVATE_HOSTS: shops.map(({ website }) => website).join(), SANDBOX_AUTO_VERIFY: 'false' },
});
const { service, buy, balance, expectSound } = world;
for (const each of Object.values(addressless)) each.connect(() => service.url);

afterEach(expectSound);

/** Each order goes to a flat of its own, so that none looks like another. */
let flats = 0;
const flat = () => ({ ...home, extra: `Flat ${++flats}` });
const home = {
  name: 'Ada King Lovelace',
  street: '1 Main St',
  postalCode: '94105',
  city: 'San Francisco',
  country: 'US',
};

/** A buyer whose email is verified. */
async function knownBuyer() {
  const buyer = await world.fundedBuyer('100');
  await verifyEmail(service.client, buyer.key);
  return { ...buyer, email: (await service.client.get('/account', buyer.key)).body.email as string };
}

const bodiesOf = ({ calls }: UcpMerchant) =>
  calls
    .filter(({ method, path }) => method !== 'GET' && /checkout-sessions(\/[^/]+)?$/.test(path))
    .map(({ body }) => body);

/** It could be completed as it is, and says this besides. */
function readyAtOnce(session: MerchantSession, besides: object = {}) {
  session.status = 'ready_for_complete';
  return { status: 201, body: { ...describeSession(session), ...besides } };
}

const lineThat = (requires: object) => ({
  line_items: [
    { id: 'li_1', item: { id: 'v1', title: 'Blue Kettle', price: 2400, requires }, quantity: 1, totals: [] },
  ],
});

describe('a shop is told who buys', () => {
  test('with every request that may say it: the recipient’s name, a proved email, and a number that can be dialled', async () => {
    const { key, email } = await knownBuyer();
    await buy({ shippingAddress: { ...flat(), phone: '+1 (415) 555-0100' } }, { key });
    const buyer = { first_name: 'Ada', last_name: 'King Lovelace', email, phone_number: '+14155550100' };
    expect(bodiesOf(shop).map((body) => body['buyer'])).toEqual([buyer, buyer]);
  });

  test('and gets no email that nobody has proved, and no number without its country', async () => {
    await buy({ shippingAddress: { ...flat(), phone: '555-0100' } });
    expect(bodiesOf(shop).map((body) => body['buyer'])).toEqual(
      [1, 2].map(() => ({ first_name: 'Ada', last_name: 'King Lovelace' })),
    );
    expect(JSON.stringify(shop.calls)).not.toContain('@example.com');
  });

  test('and a shop that needs an email says so before money moves, with what to do', async () => {
    const before = await balance();
    shop.hooks.update = (session, { body }) => {
      const { email } = body['buyer'] as { email?: string };
      session.fulfillment = body['fulfillment'];
      session.status = email === undefined ? 'incomplete' : 'ready_for_complete';
      session.messages =
        email === undefined
          ? [{ type: 'error', code: 'missing', path: '$.buyer.email', content: 'Email?', severity: 'recoverable' }]
          : [];
      return { status: 200, body: describeSession(session) };
    };
    const { status, body } = await buy();
    expect([status, body.code]).toEqual([409, 'verified_email_required']);
    expect(body.detail).toContain('POST /account/email/verify');
    expect(await balance()).toBe(before);
    expect((await buy({}, { key: (await knownBuyer()).key })).status).toBe(200);
  });
});

describe.each(['2026-08-25', '2026-04-08'] as const)('a shop of %s whose checkout takes no address', (version) => {
  const other = addressless[version];
  const website = other.website;

  test('is not bought from, for it could not know where to send it', async () => {
    const before = await balance();
    other.hooks.create = (session) => readyAtOnce(session, { continue_url: 'https://shop.example/continue/1' });
    const { status, body } = await buy({ website });
    expect([status, body.code, body.orderId]).toEqual([422, 'address_not_taken', undefined]);
    expect(body.continueUrl).toBe('https://shop.example/continue/1');
    expect(await balance()).toBe(before);
    expect(other.calls.some(({ path }) => path.endsWith('/complete'))).toBe(false);
  });

  test.each([
    ['waits for one all the same', []],
    [
      'asks for one',
      [
        {
          type: 'error',
          code: 'missing',
          path: '$.shipping.street_address',
          content: 'Where to?',
          severity: 'recoverable',
        },
      ],
    ],
  ])('and that %s is not bought from either', async (_what, messages) => {
    other.hooks.create = (session) => ({ status: 201, body: { ...describeSession(session), messages } });
    expect((await buy({ website })).body.code).toBe('address_not_taken');
  });

  test.each([
    ['by its line', lineThat({ shipping: false })],
    ['by how it is delivered', { fulfillment: { methods: [{ id: 'm', type: 'digital', line_item_ids: ['li_1'] }] } }],
  ])('sells what is not sent, %s, and hears of the buyer and not of the address', async (_how, besides) => {
    other.hooks.create = (session) => readyAtOnce(session, besides);
    const { key, email } = await knownBuyer();
    expect((await buy({ website, shippingAddress: flat() }, { key })).status).toBe(200);
    const bodies = bodiesOf(other);
    expect(bodies).toHaveLength(1);
    expect(bodies[0]).toMatchObject({ buyer: { first_name: 'Ada', email } });
    expect(complaintsAboutRequest(version, 'create', bodies[0])).toEqual([]);
    expect(JSON.stringify(other.calls)).not.toContain('1 Main St');
  });

  test.each([
    ['of which something is sent', lineThat({ shipping: true })],
    [
      'of which one part is sent',
      {
        fulfillment: {
          methods: [
            { id: 'm', type: 'digital', line_item_ids: [] },
            { id: 'n', type: 'shipping', line_item_ids: ['li_1'] },
          ],
        },
      },
    ],
  ])('does not sell anything %s', async (_what, besides) => {
    other.hooks.create = (session) => readyAtOnce(session, besides);
    expect((await buy({ website })).body.code).toBe('address_not_taken');
  });

  test('and that has none left says that', async () => {
    other.hooks.create = (session) => {
      session.messages = [{ type: 'error', code: 'out_of_stock', content: 'Sorry.', severity: 'recoverable' }];
      return { status: 201, body: describeSession(session) };
    };
    expect((await buy({ website })).body.code).toBe('sold_out');
  });

  test('and that wants to see the buyer is handed over', async () => {
    other.hooks.create = (session) => {
      Object.assign(session, { status: 'requires_escalation', continue_url: 'https://shop.example/continue/2' });
      return { status: 201, body: describeSession(session) };
    };
    expect((await buy({ website })).body.code).toBe('needs_buyer');
  });
});

test('a shop that takes addresses, and delivers this one by mail alone, is not told where the buyer lives', async () => {
  shop.hooks.create = (session) =>
    readyAtOnce(session, { fulfillment: { methods: [{ id: 'm', type: 'digital', line_item_ids: ['li_1'] }] } });
  expect((await buy({ shippingAddress: flat() })).status).toBe(200);
  expect(JSON.stringify(shop.calls)).not.toContain('1 Main St');
});

describe('a shop that takes addresses', () => {
  type Method = {
    readonly groups?: object[];
    readonly selected_destination_id: string;
    readonly destinations: Place[];
  };
  type Place = Record<string, unknown>;
  const warehouse = {
    id: 'warehouse',
    first_name: 'Mallory',
    street_address: '666 Other St',
    address_locality: 'Reno',
    postal_code: '89501',
    address_country: 'US',
  };

  /** It is ready, and this is how it would send it, once it was told where. */
  const sends = (how: (method: Method) => object | undefined) => {
    shop.hooks.update = (session, { body }) => {
      const [method] = (body['fulfillment'] as { methods: [Method] }).methods;
      session.fulfillment = { methods: [how(method)].filter(Boolean) };
      session.status = 'ready_for_complete';
      return { status: 200, body: describeSession(session) };
    };
  };
  const to = (place: Place, besides: object = {}) => ({
    id: 'm1',
    type: 'shipping',
    line_item_ids: ['li_1'],
    destinations: [place],
    selected_destination_id: place['id'],
    ...besides,
  });

  test.each<[string, (method: Method) => object | undefined]>([
    ['only has it fetched', () => to({ id: 'store', name: 'Store', address: {} }, { type: 'pickup' })],
    ['has it fetched from where we live', ({ destinations: [ours = {}] }) => to(ours, { type: 'pickup' })],
    ['forgets the address', () => undefined],
    ['ships without saying where', () => ({ id: 'm1', type: 'shipping', line_item_ids: ['li_1'] })],
    ['ships to an address of its own', () => to(warehouse)],
    [
      'lists ours, and selects its own',
      ({ destinations: [ours = {}] }) => to(warehouse, { destinations: [ours, warehouse] }),
    ],
    [
      'takes the street, in another town',
      ({ destinations: [ours = {}] }) => to({ ...ours, id: 'addr_77', address_locality: 'Reno' }),
    ],
    ['ships something else there', ({ destinations: [ours = {}] }) => to(ours, { line_item_ids: ['li_2'] })],
  ])('and %s is not paid', async (_what, how) => {
    const before = await balance();
    sends(how);
    const { status, body } = await buy({ shippingAddress: flat() });
    expect([status, body.code, body.orderId]).toEqual([422, 'address_not_taken', undefined]);
    expect(body.detail).toContain('does not confirm it');
    expect(shop.calls.some(({ path }) => path.endsWith('/complete'))).toBe(false);
    expect(await balance()).toBe(before);
  });

  test.each<[string, (method: Method) => object]>([
    [
      'renames and tidies it',
      ({ destinations: [ours = {}] }) =>
        to({ ...ours, id: 'addr_77', street_address: '1 MAIN ST.', address_country: 'us' }, { groups: [] }),
    ],
    [
      'shows nothing of it but our id',
      ({ selected_destination_id }) => ({ id: 'm1', type: 'shipping', selected_destination_id }),
    ],
    [
      'shows no other, and selects none',
      ({ destinations }) => ({ id: 'm1', type: 'shipping', line_item_ids: ['li_1'], destinations }),
    ],
  ])('and %s is paid', async (_what, how) => {
    sends(how);
    expect((await buy({ shippingAddress: flat() })).status).toBe(200);
  });

  test('is never told to send it to an address that it knew before', async () => {
    const selected: string[] = [];
    const option = { id: 'std', title: 'Standard', totals: [{ type: 'total', amount: 0 }] };
    sends(({ groups, destinations: [ours = {}], selected_destination_id }) => {
      selected.push(selected_destination_id);
      const group = { id: 'g1', line_item_ids: ['li_1'], options: [option], ...groups?.[0] };
      return to({ ...ours, id: 'addr_77' }, { destinations: [warehouse, { ...ours, id: 'addr_77' }], groups: [group] });
    });
    expect((await buy({ shippingAddress: flat() })).status).toBe(200);
    expect(selected).toEqual([expect.stringMatching(/^dest_/), 'addr_77']);
  });
});
