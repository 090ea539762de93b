import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLogger } from '../../../../src/kernel/log/logger.ts';
import { createSecrets } from '../../../../src/kernel/secrets/secrets.ts';
import { userAccount } from '../../../../src/ledger/account-id.ts';
import { spendableBalances } from '../../../../src/ledger/balances.ts';
import { findClaimant, listDues, openClaimant } from '../../../../src/ledger/claimants.ts';
import { createLedger } from '../../../../src/ledger/ledger.ts';
import { verifyLedger } from '../../../../src/ledger/verify.ts';
import { amountOf } from '../../../../src/money/amount.ts';
import type { Asset } from '../../../../src/money/catalogue.ts';
import { findMerchant, merchantsOf, unsealOrdersSecret } from '../../../../src/shopping/merchants/find-merchant.ts';
import { redeemLeftovers } from '../../../../src/shopping/merchants/redeem-domain.ts';
import type { TestAccount } from '../../../support/client.ts';
import { createOwners, deposit } from '../../../support/ledger.ts';
import { startTestShop, type TestShop } from '../../../support/merchant.ts';
import { useService } from '../../../support/service.ts';

const path = '/.well-known/paywright-merchant.txt';
const ordersUrl = 'http://127.0.0.1:9/orders';
const operatorsSecret = 'a secret of at least thirty-two characters';

// Each domain is proved once and for all, so every test that proves one has a shop of its own.
const shops: TestShop[] = await Promise.all(Array.from({ length: 14 }, startTestShop));
const takeShop = () => {
  const shop = shops.pop();
  if (shop === undefined) throw new Error('there are no more shops');
  return shop;
};

// Nothing is done by the clock here: what is owed is paid out when a test asks for it.
const service = useService({
  roles: { serve: true, work: false },
  env: {
    ALLOW_PRIVATE_HOSTS: [...shops.map(({ website }) => website), '127.0.0.1:9'].join(','),
    PAYWRIGHT_SECRET: operatorsSecret,
  },
});
const { db } = service.database;
const ledger = createLedger({ db, logger: createLogger('silent') });
afterAll(() => ledger.stop());

let ada: TestAccount;
let grace: TestAccount;
beforeAll(async () => {
  [ada, grace] = [await service.client.register(), await service.client.register({ name: 'Grace' })];
});

const register = (account: TestAccount, website: string, more: object = {}) =>
  service.client.post('/shopping/merchants', { website, ...more }, account.key);
const verify = (account: TestAccount, domain: string) =>
  service.client.post(`/shopping/merchants/${domain}/verify`, undefined, account.key);
const look = (account: TestAccount, domain: string) => service.client.get(`/shopping/merchants/${domain}`, account.key);
const remove = (account: TestAccount, domain: string) =>
  service.client.request('DELETE', `/shopping/merchants/${domain}`, { key: account.key });

async function idOf({ handle }: TestAccount): Promise<bigint> {
  const { rows } = await db.query<{ id: bigint }>('SELECT id FROM accounts WHERE handle = $1', [handle]);
  return rows[0]?.id ?? 0n;
}

/** The shop shows these lines, as a plain file does. */
function show(shop: TestShop, ...lines: string[]): void {
  shop.answers[path] = (_asked, response) =>
    response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).end(lines.join('\n'));
}

async function prove(account: TestAccount, shop: TestShop) {
  const { body } = await register(account, shop.website);
  show(shop, body.proof.content);
  return verify(account, shop.website);
}

/** Somebody's order was captured while the shop had no account. */
async function owe(domain: string, asset: Asset, atomic: bigint): Promise<void> {
  const [buyer] = await createOwners(db, 1);
  const id = buyer?.id ?? 0n;
  await ledger.post(deposit(id, atomic, `deposit:MATIC:${id}:0`, asset));
  const { account } = await openClaimant(db, { kind: 'domain', name: domain, asset, chain: 'MATIC' });
  const outcome = await ledger.post({
    type: 'order',
    amount: amountOf(asset, atomic),
    senderId: id,
    entries: [
      { account: userAccount(id, asset), atomic: -atomic },
      { account, atomic },
    ],
  });
  expect(outcome.outcome).toBe('posted');
}

async function dueTo(domain: string): Promise<bigint[]> {
  const claimant = await findClaimant(db, { kind: 'domain', name: domain });
  return claimant === undefined ? [] : (await listDues(db, claimant.id)).map(({ amount }) => amount.atomic);
}

const balance = async (account: TestAccount, asset: 'USDC' | 'EURC' = 'USDC') =>
  (await spendableBalances(db, await idOf(account)))[asset].atomic;
const expectSoundBooks = async () => expect((await verifyLedger(db)).problems).toEqual([]);

describe('registering a domain', () => {
  test('tells what to put where, in any usual spelling, and the secret once', async () => {
    const { status, body } = await register(ada, 'HTTPS://www.Shop-One.com/products?x=1', {
      ordersUrl: 'https://shop-one.com/orders',
    });
    expect(status).toBe(201);
    expect(body).toEqual({
      domain: 'shop-one.com',
      status: 'unproved',
      proof: {
        url: `https://shop-one.com${path}`,
        content: expect.stringMatching(new RegExp(`^paywright-merchant ${ada.handle} [0-9A-Za-z]{32}$`)),
      },
      ordersUrl: 'https://shop-one.com/orders',
      signed: true,
      ordersSecret: expect.stringMatching(/^whsec_[0-9A-Za-z+/]{43}=$/),
      createdAt: expect.any(String),
      provedAt: null,
    });
    const { ordersSecret, ...rest } = body;
    expect((await look(ada, 'www.shop-one.com')).body).toEqual(rest);
    const kept = await db.query<{ text: string }>('SELECT c::text AS text FROM merchant_claims c');
    expect(kept.rows.some(({ text }) => text.includes(ordersSecret))).toBe(false);
  });

  test('again keeps the proof and makes a new secret; under the same Idempotency-Key it is the same answer', async () => {
    const send = () =>
      service.client.request('POST', '/shopping/merchants', {
        key: ada.key,
        body: { website: 'shop-two.com', ordersUrl: 'https://shop-two.com/orders' },
        headers: { 'idempotency-key': 'register-two' },
      });
    const first = await send();
    const second = await send();
    expect(second.body).toEqual(first.body);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    const answers = await db.query<{ text: string }>('SELECT k::text AS text FROM ledger.idempotency_keys k');
    expect(answers.rows.some(({ text }) => text.includes(first.body.ordersSecret))).toBe(false);
    const again = await register(ada, 'shop-two.com');
    expect(again.body).toEqual({ ...first.body, ordersSecret: expect.not.stringContaining(first.body.ordersSecret) });
  });

  test('several may do, and each sees only its own', async () => {
    const [hers, theirs] = [await register(ada, 'shop-three.com'), await register(grace, 'shop-three.com')];
    expect(hers.body.proof.content).not.toBe(theirs.body.proof.content);
    const { body } = await service.client.get('/shopping/merchants', grace.key);
    expect(body.merchants.map(({ domain }: { domain: string }) => domain)).toEqual(['shop-three.com']);
    expect((await look(grace, 'shop-one.com')).body.code).toBe('merchant_not_found');
  });

  test('is listed newest first, a page at a time', async () => {
    const { key } = ada;
    const { body: first } = await service.client.get('/shopping/merchants?limit=2', key);
    const { body: second } = await service.client.get(`/shopping/merchants?limit=2&cursor=${first.nextCursor}`, key);
    const domains = [...first.merchants, ...second.merchants].map(({ domain }: { domain: string }) => domain);
    expect(domains).toEqual(['shop-three.com', 'shop-two.com', 'shop-one.com']);
    expect(second.nextCursor).toBeNull();
  });

  test('ends at twenty of them, also when all come at once', async () => {
    const many = await service.client.register();
    const replies = await Promise.all(Array.from({ length: 25 }, (_, index) => register(many, `many-${index}.com`)));
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(20);
    const refused = replies.filter(({ status }) => status !== 201);
    expect(new Set(refused.map(({ body }) => body.code))).toEqual(new Set(['too_many_domains']));
    const { body } = await service.client.get('/shopping/merchants', many.key);
    const [{ domain }] = body.merchants;
    expect((await register(many, domain)).status).toBe(201);
    expect((await remove(many, domain)).body).toEqual({ domain, deleted: true });
    expect((await register(many, 'one-more.com')).status).toBe(201);
  });

  test.each([
    ['an inner host', { website: 'localhost' }, 'invalid_request'],
    ['an address', { website: '93.184.216.34' }, 'invalid_request'],
    ['a port that nobody named', { website: 'shop.com:8080' }, 'invalid_request'],
    ['nothing', {}, 'invalid_request'],
    ['another field', { website: 'shop.com', domain: 'x' }, 'invalid_request'],
    ['an orders URL inside', { website: 'shop.com', ordersUrl: 'https://10.0.0.1/' }, 'orders_url_refused'],
    ['an orders URL without TLS', { website: 'shop.com', ordersUrl: 'http://shop.com/' }, 'orders_url_refused'],
    ['an orders URL that is none', { website: 'shop.com', ordersUrl: 'javascript:alert(1)' }, 'orders_url_refused'],
  ])('refuses %s', async (_what, body, code) => {
    const reply = await service.client.post('/shopping/merchants', body, ada.key);
    expect([reply.status, reply.body.code]).toEqual([400, code]);
  });

  test('needs a key, and knows no domains that cannot be', async () => {
    expect((await service.client.post('/shopping/merchants', { website: 'shop.com' })).status).toBe(401);
    for (const domain of ['localhost', 'nobody.com', '%00', 'a b', '..']) {
      expect([400, 404]).toContain((await look(ada, encodeURIComponent(domain))).status);
      expect([400, 404]).toContain((await verify(ada, encodeURIComponent(domain))).status);
    }
  });
});

describe('proving a domain', () => {
  test('opens the gate, and pays out what it was owed to the last unit', async () => {
    const shop = takeShop();
    const merchant = await service.client.register();
    await owe(shop.website, 'USDC', 24_000_001n);
    await owe(shop.website, 'USDC', 1n);
    await owe(shop.website, 'EURC', 4_500_000n);
    const { body: registered } = await register(merchant, shop.website, { ordersUrl });
    expect(await findMerchant(db, shop.website)).toBeUndefined();
    show(shop, '# who sells here', '', `  ${registered.proof.content}\r`, 'paywright-merchant PA-00000000 other');
    const { status, body } = await verify(merchant, shop.website);
    expect(status).toBe(200);
    expect(body).toMatchObject({ domain: shop.website, status: 'enabled', ordersUrl, signed: true });
    expect(body.provedAt).not.toBeNull();
    expect(body.redeemed).toEqual([
      { amount: 24.000002, currency: 'USDC', chain: 'MATIC', transferId: expect.stringMatching(/^trf_/) },
      { amount: 4.5, currency: 'EURC', chain: 'MATIC', transferId: expect.stringMatching(/^trf_/) },
    ]);
    expect([await balance(merchant), await balance(merchant, 'EURC')]).toEqual([24_000_002n, 4_500_000n]);
    expect(await dueTo(shop.website)).toEqual([]);
    const { body: history } = await service.client.get('/circle/transfers', merchant.key);
    expect(history.transfers).toMatchObject([
      { type: 'claim', direction: 'received', amount: 4.5, currency: 'EURC' },
      { type: 'claim', direction: 'received', amount: 24.000002, currency: 'USDC' },
    ]);
    expect(shop.asked.map(({ headers }) => headers['user-agent'])).toEqual([`PaywrightBot/1.0 (+${service.url}/bot)`]);

    const accountId = await idOf(merchant);
    expect(await findMerchant(db, shop.website)).toEqual({
      domain: shop.website,
      accountId,
      state: 'enabled',
      ordersUrl,
    });
    expect(await merchantsOf(db, accountId)).toEqual([shop.website]);
    const secret = await unsealOrdersSecret(db, createSecrets(operatorsSecret), shop.website);
    expect(secret).toBe(registered.ordersSecret);
    await expectSoundBooks();
  });

  test('again asks nobody, and pays out what was added meanwhile', async () => {
    const shop = takeShop();
    const merchant = await service.client.register();
    expect((await prove(merchant, shop)).body.redeemed).toEqual([]);
    shop.answers = {};
    shop.asked.length = 0;
    await owe(shop.website, 'USDC', 700n);
    const { status, body } = await verify(merchant, shop.website);
    expect([status, body.redeemed]).toEqual([200, [expect.objectContaining({ amount: 0.0007 })]]);
    expect(shop.asked).toEqual([]);
    // Nobody has to ask for what comes at the last moment.
    await owe(shop.website, 'USDC', 1n);
    await owe('unproved.example', 'USDC', 5n);
    await redeemLeftovers(db, ledger);
    expect([await balance(merchant), await dueTo(shop.website)]).toEqual([701n, []]);
    expect(await dueTo('unproved.example')).toEqual([5n]);
    await expectSoundBooks();
  });

  test('of two at once one succeeds, and all that is owed is theirs', async () => {
    const shop = takeShop();
    const rivals = await Promise.all(Array.from({ length: 4 }, () => service.client.register()));
    await owe(shop.website, 'USDC', 1_000_000n);
    const contents = await Promise.all(
      rivals.map(async (rival) => (await register(rival, shop.website)).body.proof.content),
    );
    // A site that shows everybody's token: then it is up to us that only one gets it.
    show(shop, ...contents);
    const replies = await Promise.all(
      rivals.flatMap((rival) => [verify(rival, shop.website), verify(rival, shop.website)]),
    );
    const statuses = replies.map(({ status }) => status);
    expect([...statuses].sort()).toEqual([200, 200, 409, 409, 409, 409, 409, 409]);
    expect(replies.filter(({ status }) => status === 409).every(({ body }) => body.code === 'domain_taken')).toBe(true);
    const winner = rivals[Math.floor(statuses.indexOf(200) / 2)] as TestAccount;
    expect((await findMerchant(db, shop.website))?.accountId).toBe(await idOf(winner));
    const balances = await Promise.all(rivals.map((rival) => balance(rival)));
    expect(balances.filter((atomic) => atomic > 0n)).toEqual([1_000_000n]);
    expect(await balance(winner)).toBe(1_000_000n);
    await expectSoundBooks();
  });

  test('is written down, once', async () => {
    const shop = takeShop();
    const merchant = await service.client.register();
    await prove(merchant, shop);
    await verify(merchant, shop.website);
    const { body } = await service.client.get('/account/audit', merchant.key);
    const proved = body.entries.filter(({ action }: { action: string }) => action === 'merchant.proved');
    expect(proved).toMatchObject([{ details: { domain: shop.website } }]);
  });

  test('is refused when the key was ended while the site took its time', async () => {
    const shop = takeShop();
    const merchant = await service.client.register();
    await owe(shop.website, 'USDC', 9n);
    const { body } = await register(merchant, shop.website);
    shop.answers[path] = async (_asked, response) => {
      await service.client.post('/account/revoke-key', undefined, merchant.key);
      response.writeHead(200, { 'content-type': 'text/plain' }).end(body.proof.content);
    };
    expect(await verify(merchant, shop.website)).toMatchObject({ status: 401, body: { code: 'unauthorized' } });
    expect(await findMerchant(db, shop.website)).toBeUndefined();
    expect([await balance(merchant), await dueTo(shop.website)]).toEqual([0n, [9n]]);
  });

  test('cannot take what is another’s, not even by showing the file', async () => {
    const shop = takeShop();
    await register(grace, shop.website);
    await prove(ada, shop);
    const { body } = await look(grace, shop.website);
    expect(body.status).toBe('unproved');
    show(shop, body.proof.content);
    expect(await verify(grace, shop.website)).toMatchObject({ status: 409, body: { code: 'domain_taken' } });
    expect(await register(grace, shop.website)).toMatchObject({ status: 409, body: { code: 'domain_taken' } });
    expect((await findMerchant(db, shop.website))?.accountId).toBe(await idOf(ada));
  });

  test('works for a shop of the sandbox by its name, whose address is http', async () => {
    const { body } = await register(ada, 'demo-shop.example');
    expect(body.proof.url).toBe(`http://demo-shop.example${path}`);
    expect((await verify(ada, 'demo-shop.example')).body).toMatchObject({
      code: 'domain_not_proved',
      found: expect.stringMatching(/status 404|web page/),
    });
  });
});

describe('a site that shows something else', () => {
  const shop = takeShop();
  let content = '';
  beforeAll(async () => {
    content = (await register(ada, shop.website)).body.proof.content;
  });
  const refuse = async (reason: RegExp | string) => {
    const { status, body } = await verify(ada, shop.website);
    expect([status, body.code]).toEqual([422, 'domain_not_proved']);
    expect(body.found).toMatch(reason);
    expect(body.detail).toContain(content);
    expect(await findMerchant(db, shop.website)).toBeUndefined();
  };
  const answer = (status: number, headers: Record<string, string>, body = content) => {
    shop.answers[path] = (_asked, response) => response.writeHead(status, headers).end(body);
  };
  const plain = { 'content-type': 'text/plain' };

  test('proves nothing by having no file', async () => {
    await refuse('The site responded with status 404.');
  });

  test.each([500, 403, 204, 206, 304])('proves nothing with status %s', async (status) => {
    answer(status, plain);
    await refuse(`The site responded with status ${status}.`);
  });

  test('proves nothing with a page, whatever is in it', async () => {
    answer(200, { 'content-type': 'text/html; charset=utf-8' });
    await refuse('web page');
    answer(200, { 'content-type': 'application/xhtml+xml' });
    await refuse('web page');
  });

  test('proves nothing with the line in the middle of another, in another case, or of another account', async () => {
    const [, , token = ''] = content.split(' ');
    for (const line of [
      `no ${content}`,
      `${content} or not`,
      token,
      content.toUpperCase(),
      content.replace(ada.handle, grace.handle),
      content.slice(0, -1),
    ]) {
      answer(200, plain, line);
      await refuse('does not contain that line');
    }
  });

  test('is told what it shows, without what could steer a terminal', async () => {
    answer(200, plain, `\n\u001b[31mred <b>bold</b> ${'x'.repeat(5_000)}`);
    await refuse(/^The file does not contain that line. It begins with “\[31mred bold x+…”\.$/);
    answer(200, plain, ' \n\n');
    await refuse('The file is empty.');
  });

  test('proves nothing with a file that is too large, or does not come', async () => {
    answer(200, plain, `${content}\n${'x'.repeat(20_000)}`);
    await refuse('larger than 16384 bytes');
    shop.answers[path] = (_asked, response) => response.socket?.destroy();
    await refuse('closed the connection');
  });

  test('may not lead us to another site, another file, or round in circles', async () => {
    const elsewhere = takeShop();
    show(elsewhere, content);
    elsewhere.answers['/token.txt'] = content;
    for (const location of [
      `${elsewhere.origin}${path}`,
      `//${elsewhere.website}${path}`,
      `http://localhost:${elsewhere.server.port}${path}`,
      '/token.txt',
      'http://user:password@evil.example/x',
      'http://[',
      'javascript:alert(1)',
    ]) {
      answer(302, { location });
      await refuse('which is not the proof file');
    }
    expect(elsewhere.asked).toEqual([]);
    answer(301, { location: `${shop.origin}${path}?again` });
    await refuse('redirects in a loop');
    expect(shop.asked.length).toBeLessThan(15);
  });

  test('is proved all the same when it redirects to the same file of its own', async () => {
    shop.answers[path] = ({ query }, response) =>
      query.has('v')
        ? response.writeHead(200, plain).end(content)
        : response.writeHead(308, { location: `${path}?v=2` }).end();
    expect((await verify(ada, shop.website)).body.status).toBe('enabled');
  });
});

describe('a merchant', () => {
  test('changes where its orders go, before it is proved and after', async () => {
    const shop = takeShop();
    await register(ada, shop.website, { ordersUrl });
    const change = (url: string | null) =>
      service.client.patch(`/shopping/merchants/${shop.website}`, { ordersUrl: url }, ada.key);
    expect((await change('http://127.0.0.1:9/other')).body).toMatchObject({ status: 'unproved', signed: true });
    await prove(ada, shop);
    expect((await findMerchant(db, shop.website))?.ordersUrl).toBe('http://127.0.0.1:9/other');
    expect((await change(null)).body).toMatchObject({ status: 'enabled', ordersUrl: null });
    expect((await findMerchant(db, shop.website))?.ordersUrl).toBeNull();
    expect((await change('https://10.0.0.1/')).body.code).toBe('orders_url_refused');
    const foreign = await service.client.patch(`/shopping/merchants/${shop.website}`, { ordersUrl }, grace.key);
    expect([foreign.status, foreign.body.code]).toEqual([404, 'merchant_not_found']);
    // A new secret is in use at once.
    const { body } = await register(ada, shop.website);
    expect(body.status).toBe('enabled');
    expect(await unsealOrdersSecret(db, createSecrets(operatorsSecret), shop.website)).toBe(body.ordersSecret);
  });

  test('that gives its domain up is paid first, and the domain is closed until somebody proves it anew', async () => {
    const shop = takeShop();
    const [first, second] = [await service.client.register(), await service.client.register()];
    await prove(first, shop);
    await owe(shop.website, 'USDC', 30n);
    expect((await remove(second, shop.website)).status).toBe(404);
    expect((await remove(first, shop.website)).body).toEqual({ domain: shop.website, deleted: true });
    expect((await remove(first, shop.website)).status).toBe(404);
    expect(await balance(first)).toBe(30n);
    expect(await findMerchant(db, shop.website)).toEqual({
      domain: shop.website,
      accountId: null,
      state: 'disabled',
      ordersUrl: null,
    });
    // An order that was under way is still the first one's, whoever has the domain by then.
    await owe(shop.website, 'USDC', 4n);
    expect((await prove(second, shop)).body).toMatchObject({ status: 'enabled', redeemed: [] });
    expect([await balance(first), await balance(second), await dueTo(shop.website)]).toEqual([34n, 0n, []]);
    expect(await merchantsOf(db, await idOf(first))).toEqual([]);
    await expectSoundBooks();
  });
});
