import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Scope } from '../../../src/kernel/http/define-route.ts';
import type { OpenApiDocument, OpenApiOperation } from '../../../src/kernel/http/openapi.ts';
import type { Reply } from '../../support/client.ts';
import { freshEmail } from '../../support/client.ts';
import {
  openShopfront,
  pay as payFor,
  paymentHeader,
  quotePath,
  receiptsOf,
  sign,
  termsOf,
  usdc,
} from '../../support/nano.ts';
import { openOwnerBrowser } from '../../support/owner.ts';
import { runCommand } from '../../support/process.ts';
import { useService } from '../../support/service.ts';
import { complete, startUcpMerchant } from '../../support/ucp-merchant.ts';
import { mailedToken, registerVerified } from '../../support/verify-email.ts';

const shop = await startUcpMerchant();
const service = useService({
  env: {
    SANDBOX_AUTO_VERIFY: 'false',
    ALLOW_PRIVATE_HOSTS: `127.0.0.1:9,${shop.website}`,
  },
  // A payer signs more than its wallet holds before the first settlement.
  settings: { nano: { settleSeconds: 120 } },
});
shop.connect(() => service.url);
let document: OpenApiDocument;
beforeAll(async () => {
  document = (await service.client.get('/openapi.json')).body;
});

const password = 'correct horse';

async function newKey(): Promise<string> {
  return (await service.client.register()).key;
}

async function newFundedKey(): Promise<string> {
  const key = await newKey();
  await service.client.post('/sandbox/fund', { amount: 100 }, key);
  return key;
}

async function walkTransfer(path: string): Promise<Reply[]> {
  const key = await newFundedKey();
  const { handle: to } = await service.client.register();
  const { handle: self } = (await service.client.get('/account', key)).body;
  const pay = (change: object) =>
    service.client.request('POST', path, {
      key,
      body: { to, amount: 10, currency: 'USDC', ...change },
      headers: { 'idempotency-key': 'walk' },
    });
  return [
    await pay({ amount: 1000 }),
    await pay({ to: 'PA-00000000' }),
    await pay({ to: self }),
    await pay({ to: '' }),
    await pay({}),
    await pay({}),
    await pay({ amount: 11 }),
  ];
}

/** Its price, its answer, what is not asked properly, and what a wallet has signed beyond its credit. */
async function walkCall(path: string, wrong: string): Promise<Reply[]> {
  const shop = await openShopfront(service.database);
  const price = await service.client.get(path);
  const terms = termsOf(price);
  const payer = await shop.payer(10_000_000n);
  const beyondCredit = (sign: '+' | '-') =>
    service.database.db.query(`UPDATE payers SET credit = credit ${sign} 1000000 WHERE address = lower($1)`, [
      payer.address,
    ]);
  const send = async () =>
    service.client.request('GET', path, {
      headers: { ...paymentHeader(await sign(payer, terms), terms), prefer: 'wait=0' },
    });
  const answered = await send();
  await beyondCredit('+');
  const pending = await send();
  await beyondCredit('-');
  return [
    price,
    answered,
    pending,
    await service.client.get(wrong),
    await service.client.request('GET', path, { headers: { 'x-payment': '?' } }),
  ];
}

/** A key below a root, and how the root sets its policy. */
async function newPolicy() {
  const key = await newKey();
  const { id, apiKey } = (await service.client.post('/account/keys', { name: 'Agent' }, key)).body;
  const put = (body: object, headers: Record<string, string> = {}) =>
    service.client.request('PUT', `/account/keys/${id}/policy`, { key, body, headers });
  return { key, id, apiKey, put };
}

async function askedApproval() {
  const { key, apiKey, put } = await newPolicy();
  await put({ rules: [{ effect: 'ask' }] });
  const { handle: to } = await service.client.register();
  const asked = await service.client.post('/agent/transfer', { to, amount: 5, currency: 'USDC' }, apiKey);
  return { key, apiKey, asked };
}

/** A key that a policy has allowed to pay. */
async function newDecision(): Promise<string> {
  const root = await newFundedKey();
  const { id, apiKey } = (await service.client.post('/account/keys', { name: 'Agent' }, root)).body;
  const policy = {
    rules: [{ effect: 'allow' }],
    budgets: [{ id: 'all', amount: 5, currency: 'USDC', window: 'once' }],
  };
  await service.client.request('PUT', `/account/keys/${id}/policy`, { key: root, body: policy });
  const { handle: to } = await service.client.register();
  await service.client.post('/agent/transfer', { to, amount: 1, currency: 'USDC' }, apiKey);
  return apiKey;
}

async function newInvoice(): Promise<{ id: string; sender: string; payer: string }> {
  const [sender, payer] = [await newKey(), await service.client.register()];
  const { body } = await service.client.post(
    '/invoices',
    { toHandle: payer.handle, amount: 5, currency: 'USDC', description: 'Lunch' },
    sender,
  );
  return { id: body.id, sender, payer: payer.key };
}

async function newBridge(): Promise<{ key: string; transferId: string }> {
  const key = await newFundedKey();
  const { body } = await service.client.post('/cross-chain/transfer', { from: 'MATIC', to: 'ARB', amount: '1' }, key);
  return { key, transferId: body.transferId };
}

async function newSwap(): Promise<{ key: string; txId: string }> {
  const key = await newFundedKey();
  const { body } = await service.client.post('/swap/execute', { from: 'USDC', to: 'DAI', amount: '1' }, key);
  return { key, txId: body.txId };
}

function buyAt({ key, ...changed }: { readonly key: string } & Record<string, unknown>): Promise<Reply> {
  const shippingAddress = `Ada, ${freshEmail()} 1, 94105 San Francisco, US`;
  const product = { website: shop.website, productTitle: 'Blue Kettle', amount: 24, paymentMethod: 'usdc' };
  return service.client.post('/shopping/buy', { ...product, shippingAddress, ...changed }, key);
}

let seller: string | undefined;

/** The shop belongs to one account from the first sale on. */
async function newSale(): Promise<{ key: string; seller: string; orderId: string }> {
  seller ??= await newSeller();
  const key = await newFundedKey();
  return { key, seller, orderId: (await buyAt({ key })).body.orderId };
}

async function newSeller(): Promise<string> {
  const key = await newKey();
  const { proof } = (await service.client.post('/shopping/merchants', { website: shop.website }, key)).body;
  shop.files[new URL(proof.url).pathname] = { status: 200, body: '', text: proof.content };
  await service.client.post(`/shopping/merchants/${encodeURIComponent(shop.website)}/verify`, undefined, key);
  return key;
}

const demoSeller = 'http://demo-seller.example/forecast';

let bought: Promise<{ key: string; id: string }> | undefined;

/** One is enough for those who only look at it. */
function onePurchase(): Promise<{ key: string; id: string }> {
  bought ??= newFundedKey().then(async (key) => {
    const { body } = await service.client.post('/nano/pay', { url: demoSeller, maxAmount: 1 }, key);
    return { key, id: body.payment.id };
  });
  return bought;
}

/** Nobody answers there. */
const webhookBody = { url: 'http://127.0.0.1:9/hook', events: ['payment.sent'] };

async function newWebhook(): Promise<{ key: string; id: string }> {
  const key = await newKey();
  const { body } = await service.client.post('/webhooks', webhookBody, key);
  return { key, id: body.id };
}

/** Nobody answers there, so the operator has given it. */
async function newMerchant(): Promise<{ key: string; domain: string }> {
  const { key, handle } = await service.client.register();
  const domain = `${handle.toLowerCase()}.example.com`;
  await service.database.db.query(
    `INSERT INTO merchants (domain, account_id, state, enabled_by)
     SELECT $1, id, 'enabled', 'operator' FROM accounts WHERE handle = $2`,
    [domain, handle],
  );
  return { key, domain };
}

async function latestCode(key: string): Promise<string> {
  const { body } = await service.client.get('/sandbox/messages', key);
  return body.messages[0].text.slice(0, 6);
}

/** For every documented operation, requests that get each of its successes and at least one of its errors. */
const walks: Record<string, () => Promise<Reply[]>> = {
  async registerAgent() {
    const body = { email: freshEmail(), password, name: 'Ada' };
    return [
      await service.client.post('/agent/register', body),
      await service.client.post('/agent/register', body),
      await service.client.post('/agent/register', { ...body, password: 'wrong horse' }),
      await service.client.post('/agent/register', { ...body, email: freshEmail(), password: 'iloveyou1' }),
      await service.client.post('/agent/register', {}),
    ];
  },
  async registerCircle() {
    const body = { email: freshEmail(), password, name: 'Ada' };
    return [
      await service.client.post('/circle/register', body),
      await service.client.post('/circle/register', body),
      await service.client.post('/circle/register', { ...body, password: 'wrong horse' }),
    ];
  },
  async checkAgent() {
    const { key, handle } = await service.client.register();
    return [
      await service.client.get(`/agents/check?handle=${handle}`, key),
      await service.client.get('/agents/check?handle=PA-00000000', key),
      await service.client.get('/agents/check', key),
    ];
  },
  async lookupAccount() {
    const { key, handle } = await service.client.register();
    return [
      await service.client.get(`/circle/lookup?handle=${handle}`, key),
      await service.client.get('/circle/lookup?handle=PA-00000000', key),
      await service.client.get('/circle/lookup'),
    ];
  },
  async getAccount() {
    return [await service.client.get('/account', await newKey()), await service.client.get('/account')];
  },
  async updateAccount() {
    const key = await newKey();
    return [
      await service.client.patch('/account', { phone: '+14155550199' }, key),
      await service.client.patch('/account', { shippingAddress: '1 Main St, Austin, TX 78701' }, key),
      await service.client.patch('/account', { phone: 'x' }, key),
    ];
  },
  async setTier() {
    const key = await newKey();
    return [
      await service.client.post('/account/tier', { tier: 'pro' }, key),
      await service.client.post('/account/tier', { tier: 'enterprise' }, key),
    ];
  },
  async listAudit() {
    const key = await newKey();
    await service.client.post('/account/tier', { tier: 'pro' }, key);
    return [await service.client.get('/account/audit', key), await service.client.get('/account/audit?action=x', key)];
  },
  async searchProducts() {
    const key = await newKey();
    const ask = (website: string) => service.client.post('/shopping/search', { website, query: 'mug' }, key);
    return [await ask('demo-shop.example'), await ask('127.0.0.1:9'), await ask('localhost')];
  },
  async streamProducts() {
    const key = await newKey();
    const ask = (website: string) => service.client.get(`/shopping/search/stream?q=mug&website=${website}`, key);
    return [await ask('demo-shop.example'), await ask('localhost')];
  },
  async registerMerchant() {
    const { key, domain } = await newMerchant();
    const register = (website: string, from: string, more: object = {}) =>
      service.client.post('/shopping/merchants', { website, ...more }, from);
    return [
      await register(domain, key),
      await register(domain, await newKey()),
      await register(domain, key, { ordersUrl: 'https://10.0.0.1/' }),
      await register('localhost', key),
    ];
  },
  async verifyMerchant() {
    const { key, domain } = await newMerchant();
    const verify = (name: string) => service.client.post(`/shopping/merchants/${name}/verify`, undefined, key);
    await service.client.post('/shopping/merchants', { website: '127.0.0.1:9' }, key);
    return [await verify(domain), await verify('127.0.0.1:9'), await verify('nobody.example.com')];
  },
  async listMerchants() {
    const { key, domain } = await newMerchant();
    await service.client.post('/shopping/merchants', { website: domain }, key);
    return [
      await service.client.get('/shopping/merchants', key),
      await service.client.get('/shopping/merchants?limit=0', key),
    ];
  },
  async getMerchant() {
    const { key, domain } = await newMerchant();
    return [
      await service.client.get(`/shopping/merchants/${domain}`, key),
      await service.client.get(`/shopping/merchants/${domain}`, await newKey()),
    ];
  },
  async updateMerchant() {
    const { key, domain } = await newMerchant();
    const change = (ordersUrl: unknown) => service.client.patch(`/shopping/merchants/${domain}`, { ordersUrl }, key);
    return [await change(webhookBody.url), await change(null), await change('https://10.0.0.1/'), await change(7)];
  },
  async deleteMerchant() {
    const { key, domain } = await newMerchant();
    const remove = () => service.client.request('DELETE', `/shopping/merchants/${domain}`, { key });
    return [await remove(), await remove()];
  },
  async listKeys() {
    const key = await newKey();
    return [await service.client.get('/account/keys', key), await service.client.get('/account/keys?limit=0', key)];
  },
  async createKey() {
    const key = await newKey();
    const wish = { name: 'Agent', scopes: ['read', 'manage'], expiresAt: new Date(Date.now() + 60_000).toISOString() };
    const made = await service.client.post('/account/keys', wish, key);
    const again = (change: object) =>
      service.client.post('/account/keys', { name: 'Another', ...change }, made.body.apiKey);
    return [
      made,
      await again({ scopes: ['pay'] }),
      await again({ expiresAt: '2999-01-01T00:00:00Z' }),
      await again({ name: '' }),
      await again({ scopes: ['read'], parent: 'key_x' }),
    ];
  },
  async freezeKey() {
    const key = await newKey();
    const { id, apiKey } = (await service.client.post('/account/keys', { name: 'Agent' }, key)).body;
    const freeze = (which: string, by: string) => service.client.post(`/account/keys/${which}/freeze`, undefined, by);
    return [await freeze(id, key), await freeze('key_x', key), await freeze(id, apiKey)];
  },
  async unfreezeKey() {
    const key = await newKey();
    const { id, apiKey } = (await service.client.post('/account/keys', { name: 'Agent' }, key)).body;
    const unfreeze = (which: string, by: string) =>
      service.client.post(`/account/keys/${which}/unfreeze`, undefined, by);
    return [await unfreeze(id, key), await unfreeze('key_x', key), await unfreeze(id, apiKey)];
  },
  async listApprovals() {
    const { key, apiKey } = await askedApproval();
    return [
      await service.client.get('/approvals', key),
      await service.client.get('/approvals?status=pending', apiKey),
      await service.client.get('/approvals?status=open', apiKey),
    ];
  },
  async getApproval() {
    const { apiKey, asked } = await askedApproval();
    return [
      await service.client.get(`/approvals/${asked.body.approvalId}`, apiKey),
      await service.client.get(`/approvals/${asked.body.approvalId}?wait=31`, apiKey),
      await service.client.get('/approvals/apr_x', apiKey),
    ];
  },
  async cancelApproval() {
    const { apiKey, asked } = await askedApproval();
    const cancel = (id: string) => service.client.post(`/approvals/${id}/cancel`, undefined, apiKey);
    const { approvalId } = asked.body;
    return [await cancel(approvalId), await cancel(approvalId), await cancel('apr_x')];
  },
  async listSessions() {
    const owner = await service.client.register();
    await openOwnerBrowser(service.url).signIn(owner);
    return [
      await service.client.get('/account/sessions', owner.key),
      await service.client.get('/account/sessions?limit=0', owner.key),
    ];
  },
  async endSession() {
    const owner = await service.client.register();
    await openOwnerBrowser(service.url).signIn(owner);
    const [session] = (await service.client.get('/account/sessions', owner.key)).body.sessions;
    const end = () => service.client.request('DELETE', `/account/sessions/${session.id}`, { key: owner.key });
    return [await end(), await end()];
  },
  async setPolicy() {
    const { key, id, put } = await newPolicy();
    return [
      await put({ budgets: [{ id: 'daily', amount: 20, currency: 'USDC', window: 'day', operations: ['transfer'] }] }),
      await put({ rules: [{ effect: 'allow', amount: { lte: 5 } }] }, { 'if-match': '"another"' }),
      await put({ rules: [{ effect: 'maybe' }] }),
      await service.client.request('PUT', '/account/keys/key_x/policy', { key, body: {} }),
      await service.client.request('PUT', `/account/keys/${id}/policy`, { key: await newKey(), body: {} }),
    ];
  },
  async getPolicy() {
    const { key, id, put } = await newPolicy();
    const get = (which: string) => service.client.get(`/account/keys/${which}/policy`, key);
    const none = await get(id);
    await put({ rules: [{ effect: 'allow', hours: { from: '09:00', to: '17:00', timeZone: 'UTC' } }] });
    return [none, await get(id), await get('key_x')];
  },
  async deletePolicy() {
    const { key, id, put } = await newPolicy();
    await put({ rules: [] });
    const remove = () => service.client.request('DELETE', `/account/keys/${id}/policy`, { key });
    return [await remove(), await remove()];
  },
  async listBudgets() {
    const { apiKey, put } = await newPolicy();
    await put({ budgets: [{ id: 'hour', amount: 20, currency: 'EURC', window: 'rolling', seconds: 3600 }] });
    return [await service.client.get('/account/budgets', apiKey), await service.client.get('/account/budgets', 'none')];
  },
  async listDecisions() {
    const apiKey = await newDecision();
    return [
      await service.client.get('/account/decisions?outcome=allow&limit=1', apiKey),
      await service.client.get('/account/decisions?outcome=maybe', apiKey),
    ];
  },
  async exportDecisions() {
    const apiKey = await newDecision();
    const get = (key: string) => service.client.get('/account/decisions/export', key);
    return [await get(apiKey), await get('none')];
  },
  async proveDecision() {
    const apiKey = await newDecision();
    const { id } = (await service.client.get('/account/decisions', apiKey)).body.decisions[0];
    const prove = (which: string) => service.client.get(`/account/decisions/${which}/proof`, apiKey);
    const tooEarly = await prove(id);
    await runCommand(['decisions', 'anchor'], { dataDir: '', env: { DATABASE_URL: service.database.url } });
    return [tooEarly, await prove(id), await prove('dec_x')];
  },
  async simulatePolicy() {
    const { apiKey, put } = await newPolicy();
    const { handle: to } = await service.client.register();
    await put({ rules: [{ effect: 'allow', amount: { lte: 5 } }] });
    const simulate = (amount: unknown, operation = 'transfer') =>
      service.client.post('/account/policy/simulate', { operation, request: { to, amount, currency: 'USDC' } }, apiKey);
    return [await simulate(5), await simulate(6), await simulate('?'), await simulate(5, 'gift')];
  },
  async rotateKey() {
    const key = await newKey();
    const { id } = (await service.client.post('/account/keys', { name: 'Agent' }, key)).body;
    const rotate = (which: string, body?: object) => service.client.post(`/account/keys/${which}/rotate`, body, key);
    return [
      await rotate(id, { overlapSeconds: 60 }),
      await rotate(id),
      await rotate('key_x'),
      await rotate(id, { overlapSeconds: -1 }),
    ];
  },
  async deleteKey() {
    const key = await newKey();
    const { id } = (await service.client.post('/account/keys', { name: 'Agent' }, key)).body;
    const remove = (which: string) => service.client.request('DELETE', `/account/keys/${which}`, { key });
    return [await remove(id), await remove('key_x'), await remove(`${id}?endWebhooks=x`)];
  },
  async revokeAllKeys() {
    const { key } = await newWebhook();
    const revoke = () => service.client.post('/account/keys/revoke-all', { endWebhooks: true }, key);
    return [await revoke(), await revoke()];
  },
  async revokeKey() {
    const key = await newKey();
    return [
      await service.client.post('/account/revoke-key', undefined, key),
      await service.client.post('/account/revoke-key', undefined, key),
    ];
  },
  async closeAccount() {
    const [account, rich] = [await service.client.register(), await service.client.register()];
    await service.client.post('/sandbox/fund', { amount: 1 }, rich.key);
    const close = (key: string, given: string) => service.client.post('/account/close', { password: given }, key);
    return [
      await close(account.key, 'not the password'),
      await close(rich.key, rich.password),
      await close(account.key, account.password),
    ];
  },
  async changeEmail() {
    const { key, password } = await service.client.register();
    const ask = (given: string) => service.client.post('/account/email', { email: freshEmail(), password: given }, key);
    return [await ask(password), await ask('not the password'), await service.client.post('/account/email', {}, key)];
  },
  async confirmEmail() {
    const { key, password } = await service.client.register();
    const email = freshEmail();
    await service.client.post('/account/email', { email, password }, key);
    const code = await latestCode(key);
    const confirm = (given: string) => service.client.post('/account/email/confirm', { code: given }, key);
    return [await confirm(code === '000000' ? '000001' : '000000'), await confirm(code), await confirm(code)];
  },
  async cancelEmailChange() {
    const key = await newKey();
    return [await service.client.request('DELETE', '/account/email', { key })];
  },
  async verifyEmail() {
    const key = await newKey();
    const code = await latestCode(key);
    return [
      await service.client.post('/account/email/verify', { code }, key),
      await service.client.post('/account/email/verify', { code }, key),
    ];
  },
  async sendEmailCode() {
    const key = await newKey();
    return [
      await service.client.post('/account/email/code', undefined, key),
      await service.client.post('/account/email/code', undefined),
    ];
  },
  async verifyPhone() {
    const { key } = await registerVerified(service.client);
    await service.client.patch('/account', { phone: '+14155550198' }, key);
    const code = await latestCode(key);
    return [
      await service.client.post('/account/phone/verify', { code: code === '000000' ? '000001' : '000000' }, key),
      await service.client.post('/account/phone/verify', { code }, key),
    ];
  },
  async changePassword() {
    const key = await newKey();
    const change = { currentPassword: password, newPassword: 'another horse' };
    return [
      await service.client.post('/account/password', { ...change, currentPassword: 'wrong horse' }, key),
      await service.client.post('/account/password', { ...change, newPassword: 'iloveyou1' }, key),
      await service.client.post('/account/password', change, key),
    ];
  },
  async askPasswordReset() {
    return [
      await service.client.post('/account/password/reset', { email: freshEmail() }),
      await service.client.post('/account/password/reset', {}),
    ];
  },
  async confirmPasswordReset() {
    const { key, email } = await registerVerified(service.client);
    await service.client.post('/account/password/reset', { email });
    const confirm = { token: await mailedToken(service.client, key), newPassword: 'another horse' };
    return [
      await service.client.post('/account/password/reset/confirm', { ...confirm, newPassword: 'iloveyou1' }),
      await service.client.post('/account/password/reset/confirm', confirm),
      await service.client.post('/account/password/reset/confirm', confirm),
    ];
  },
  async sendPhoneCode() {
    const { key } = await registerVerified(service.client);
    const none = await service.client.post('/account/phone/code', undefined, key);
    await service.client.patch('/account', { phone: '+14155550197' }, key);
    return [none, await service.client.post('/account/phone/code', undefined, key)];
  },
  async quoteTransfer() {
    return [
      await service.client.get('/agent/transfer/quote?to=PA-00000000&amount=50'),
      await service.client.get('/agent/transfer/quote?to=PA-00000000&amount=0'),
    ];
  },
  createTransfer: () => walkTransfer('/agent/transfer'),
  createCircleTransfer: () => walkTransfer('/circle/transfer'),
  async getBalance() {
    return [await service.client.get('/circle/balance', await newKey()), await service.client.get('/circle/balance')];
  },
  async listTransfers() {
    const key = await newFundedKey();
    return [
      await service.client.get('/circle/transfers', key),
      await service.client.get('/circle/transfers?cursor=x', key),
    ];
  },
  async getTransfer() {
    const key = await newFundedKey();
    const { transferId } = (await service.client.get('/circle/transfers', key)).body.transfers[0];
    const get = (id: string) => service.client.get(`/circle/transfers/${id}`, key);
    return [await get(transferId), await get('trf_x')];
  },
  async openEventFeed() {
    return [
      await service.client.post('/account/events', {}, await newKey()),
      await service.client.post('/account/events', {}, 'none'),
    ];
  },
  async listEvents() {
    const key = await newKey();
    const { cursor } = (await service.client.post('/account/events', {}, key)).body;
    const get = (after: string) => service.client.get(`/account/events?after=${after}`, key);
    return [await get(cursor), await get('x'), await get('evt_01kp3v2m8rfk2s6y0e6v9q4w1x')];
  },
  async getStatement() {
    const key = await newFundedKey();
    const month = new Date().toISOString().slice(0, 7);
    return [
      await service.client.get(`/account/statement?month=${month}`, key),
      await service.client.get(`/account/statement?month=${month}&format=csv`, key),
      await service.client.get('/account/statement', key),
    ];
  },
  async fundSandboxAccount() {
    const key = await newKey();
    return [
      await service.client.post('/sandbox/fund', { amount: 5, currency: 'EURC' }, key),
      await service.client.post('/sandbox/fund', { amount: 0 }, key),
    ];
  },
  async createWebhook() {
    const key = await newKey();
    return [
      await service.client.post('/webhooks', webhookBody, key),
      await service.client.post('/webhooks', { ...webhookBody, url: 'https://10.0.0.1/' }, key),
      await service.client.post('/webhooks', { ...webhookBody, events: ['x'] }, key),
    ];
  },
  async listWebhooks() {
    const { key } = await newWebhook();
    return [await service.client.get('/webhooks', key), await service.client.get('/webhooks?limit=0', key)];
  },
  async deleteWebhook() {
    const { key, id } = await newWebhook();
    const remove = () => service.client.request('DELETE', `/webhooks/${id}`, { key });
    return [await remove(), await remove()];
  },
  async testWebhook() {
    const { key, id } = await newWebhook();
    return [
      await service.client.post(`/webhooks/${id}/test`, undefined, key),
      await service.client.post('/webhooks/whk_x/test', undefined, key),
    ];
  },
  async listWebhookDeliveries() {
    const { key, id } = await newWebhook();
    await service.client.post(`/webhooks/${id}/test`, undefined, key);
    return [
      await service.client.get('/webhooks/deliveries', key),
      await service.client.get('/webhooks/deliveries?status=lost', key),
    ];
  },
  async getWebhookDelivery() {
    const { key, id } = await newWebhook();
    const { body } = await service.client.post(`/webhooks/${id}/test`, undefined, key);
    return [
      await service.client.get(`/webhooks/deliveries/${body.id}`, key),
      await service.client.get('/webhooks/deliveries/dlv_x', key),
    ];
  },
  async retryWebhookDelivery() {
    const { key, id } = await newWebhook();
    const { body } = await service.client.post(`/webhooks/${id}/test`, undefined, key);
    const retry = () => service.client.post(`/webhooks/deliveries/${body.id}/retry`, undefined, key);
    const pending = await retry();
    // As if every attempt had failed.
    await service.database.db.query(
      "UPDATE webhook_deliveries SET status = 'failed', finished_at = now() WHERE id = $1",
      [body.id],
    );
    return [pending, await retry(), await service.client.post('/webhooks/deliveries/dlv_x/retry', undefined, key)];
  },
  async getReserves() {
    return [await service.client.get('/reserves'), await service.client.get('/reserves?x=1')];
  },
  async getAccountProof() {
    return [
      await service.client.get('/account/proof', await newFundedKey()),
      await service.client.get('/account/proof?chain=DOGE', await newKey()),
    ];
  },
  async getSandbox() {
    return [await service.client.get('/sandbox'), await service.client.get('/sandbox?x=1')];
  },
  async useSandboxFaucet() {
    const body = { address: outsideAddress, chain: 'BASE', currency: 'ETH', amount: 1 };
    return [
      await service.client.post('/sandbox/faucet', body),
      await service.client.post('/sandbox/faucet', { ...body, currency: 'DAI' }),
    ];
  },
  async createWallet() {
    return [
      await service.client.post('/circle/wallet', undefined, await newKey()),
      await service.client.post('/circle/wallet'),
    ];
  },
  async getDepositAddress() {
    const key = await newKey();
    return [
      await service.client.get('/circle/deposit-address', key),
      await service.client.get('/circle/deposit-address?chain=OP', key),
      await service.client.get('/circle/deposit-address?chain=DOGE', key),
    ];
  },
  async listDeposits() {
    return [
      await service.client.get('/circle/deposits', await newFundedKey()),
      await service.client.get('/circle/deposits?limit=0', await newKey()),
    ];
  },
  async createBuySession() {
    const key = await newKey();
    return [
      await service.client.post('/circle/buy-session', { amount: 25 }, key),
      await service.client.post('/circle/buy-session', { amount: 0.5 }, key),
      await service.client.post('/circle/buy-session', { amount: 25 }),
    ];
  },
  async listBuySessions() {
    const key = await newKey();
    await service.client.post('/circle/buy-session', { amount: 25 }, key);
    await service.client.post('/sandbox/fund', { amount: 25 }, key);
    return [
      await service.client.get('/circle/buy-sessions', key),
      await service.client.get('/circle/buy-sessions?status=paid', key),
    ];
  },
  async getBuySession() {
    const key = await newKey();
    const { body } = await service.client.post('/circle/buy-session', { amount: 25 }, key);
    return [
      await service.client.get(`/circle/buy-sessions/${body.id}`, key),
      await service.client.get(`/circle/buy-sessions/${body.id}`, await newKey()),
    ];
  },
  async withdraw() {
    const key = await newFundedKey();
    return [
      await service.client.post('/circle/withdraw', { amount: 5, address: outsideAddress }, key),
      await service.client.post('/circle/withdraw', { amount: 5 }, key),
      await service.client.post('/circle/withdraw', { amount: 9_000, address: outsideAddress }, key),
    ];
  },
  async listWithdrawals() {
    const key = await newFundedKey();
    await service.client.post('/circle/withdraw', { amount: 5, address: outsideAddress }, key);
    return [
      await service.client.get('/circle/withdrawals', key),
      await service.client.get('/circle/withdrawals?status=lost', key),
    ];
  },
  async getWithdrawal() {
    const key = await newFundedKey();
    const { body } = await service.client.post('/circle/withdraw', { amount: 5, address: outsideAddress }, key);
    return [
      await service.client.get(`/circle/withdrawals/${body.txId}`, key),
      await service.client.get('/circle/withdrawals/wdr_x', key),
    ];
  },
  async cancelWithdrawal() {
    const key = await newFundedKey();
    const { body } = await service.client.post('/circle/withdraw', { amount: 5, address: outsideAddress }, key);
    const cancel = (txId: string) => service.client.request('POST', `/circle/withdrawals/${txId}/cancel`, { key });
    // Whoever is faster: it is called back, or on its way already.
    return [await cancel(body.txId), await cancel('wdr_x')];
  },
  async getWithdrawalLimits() {
    return [await service.client.get('/account/withdrawal-limits', await newFundedKey())];
  },
  async getWithdrawalAddresses() {
    const key = await newKey();
    await service.client.post('/account/withdrawal-addresses', { address: outsideAddress }, key);
    return [await service.client.get('/account/withdrawal-addresses', key)];
  },
  async addWithdrawalAddress() {
    const key = await newKey();
    return [
      await service.client.post('/account/withdrawal-addresses', { address: outsideAddress }, key),
      await service.client.post('/account/withdrawal-addresses', { address: 'mine' }, key),
    ];
  },
  async removeWithdrawalAddress() {
    const key = await newKey();
    await service.client.post('/account/withdrawal-addresses', { address: outsideAddress }, key);
    const remove = () => service.client.request('DELETE', `/account/withdrawal-addresses/${outsideAddress}`, { key });
    return [await remove(), await remove()];
  },
  async switchAllowList() {
    const key = await newKey();
    const turn = (enabled: unknown) =>
      service.client.request('PUT', '/account/withdrawal-addresses/allow-list', { key, body: { enabled } });
    return [await turn(true), await turn(false), await turn('on')];
  },
  async listChains() {
    return [await service.client.get('/cross-chain/chains'), await service.client.get('/cross-chain/chains?x=1')];
  },
  async createCrossChainWallet() {
    const key = await newKey();
    return [
      await service.client.post('/cross-chain/wallet', { blockchain: 'BASE' }, key),
      await service.client.post('/cross-chain/wallet', { blockchain: 'DOGE' }, key),
    ];
  },
  async listCrossChainWallets() {
    const key = await newFundedKey();
    await service.client.post('/cross-chain/wallet', { blockchain: 'OP' }, key);
    return [await service.client.get('/cross-chain/wallets', key), await service.client.get('/cross-chain/wallets')];
  },
  async createCrossChainTransfer() {
    const key = await newFundedKey();
    const move = (change: object) =>
      service.client.request('POST', '/cross-chain/transfer', {
        key,
        body: { from: 'MATIC', to: 'BASE', amount: '5', ...change },
        headers: { 'idempotency-key': 'walk' },
      });
    return [
      await move({ to: 'MATIC' }),
      await move({ amount: '1000' }),
      await move({ amount: '100000000' }),
      await move({ amount: 5 }),
      await move({}),
      await move({}),
      await move({ amount: '6' }),
    ];
  },
  async getCrossChainTransfer() {
    const { key, transferId } = await newBridge();
    return [
      await service.client.get(`/cross-chain/status/${transferId}`, key),
      await service.client.get('/cross-chain/status/brg_x', key),
    ];
  },
  async listCrossChainTransfers() {
    const { key } = await newBridge();
    return [
      await service.client.get('/cross-chain/history', key),
      await service.client.get('/cross-chain/history?status=returning', key),
    ];
  },
  async listSwapTokens() {
    return [await service.client.get('/swap/tokens'), await service.client.get('/swap/tokens?x=1')];
  },
  async quoteSwap() {
    const key = await newKey();
    const quote = (from: string, to: string, amount: string) =>
      service.client.get(`/swap/quote?from=${from}&to=${to}&amount=${amount}`, key);
    return [
      await quote('USDC', 'ETH', '10'),
      await quote('USDC', 'eth', '10'),
      await quote('USDC', 'USDC', '10'),
      await quote('USDC', 'ETH', '0.000001'),
      await quote('USDC', 'ETH', '800000000'),
      await quote('USDC', 'ETH', 'ten'),
      await service.client.get('/swap/quote?from=USDC&to=ETH&amount=10'),
    ];
  },
  async executeSwap() {
    const key = await newFundedKey();
    const swap = (fields: object) =>
      service.client.request('POST', '/swap/execute', {
        key,
        body: { from: 'USDC', to: 'DAI', amount: '1', ...fields },
        headers: { 'idempotency-key': `swap-${JSON.stringify(fields)}` },
      });
    return [await swap({}), await swap({}), await swap({ amount: 1 }), await swap({ amount: '100000' })];
  },
  async getSwap() {
    const { key, txId } = await newSwap();
    return [await service.client.get(`/swap/${txId}`, key), await service.client.get('/swap/swp_x', key)];
  },
  async listSwaps() {
    const { key } = await newSwap();
    return [
      await service.client.get('/swap/history', key),
      await service.client.get('/swap/history?status=returning', key),
    ];
  },
  async getSwapBalances() {
    return [await service.client.get('/swap/balances', await newKey()), await service.client.get('/swap/balances')];
  },
  async buyProduct() {
    const key = await newFundedKey();
    const done = await buyAt({ key });
    shop.hooks.complete = () => ({ status: 503, body: {} });
    const pending = await buyAt({ key });
    shop.hooks = {};
    return [done, pending, await buyAt({ key, amount: 1 }), await buyAt({ key, website: 'closed-shop.example' })];
  },
  async listOrders() {
    const { key } = await newSale();
    return [
      await service.client.get('/shopping/orders', key),
      await service.client.get('/shopping/orders?status=placed', key),
    ];
  },
  async getOrder() {
    const { key, orderId } = await newSale();
    return [
      await service.client.get(`/shopping/orders/${orderId}`, key),
      await service.client.get('/shopping/orders/ord_x', key),
    ];
  },
  async cancelOrder() {
    const key = await newFundedKey();
    return [await service.client.post('/shopping/orders/ord_x/cancel', undefined, key)];
  },
  async redeemCredential() {
    const replies: Reply[] = [];
    shop.hooks.complete = async (session, call) => {
      const { status, body } = await shop.redeem(session, call);
      replies.push({ status, headers: new Headers({ 'content-type': 'application/json' }), body });
      return complete(session);
    };
    await buyAt({ key: await newFundedKey() });
    shop.hooks = {};
    const unsigned = { token: 'pwc_x', checkout_id: 'x', amount: 1, currency: 'USD' };
    return [...replies, await service.client.post('/shopping/credentials/redeem', unsigned)];
  },
  async listSales() {
    const { seller } = await newSale();
    return [
      await service.client.get('/shopping/sales', seller),
      await service.client.get('/shopping/sales?status=pending', seller),
    ];
  },
  async getSale() {
    const { seller, orderId } = await newSale();
    return [
      await service.client.get(`/shopping/sales/${orderId}`, seller),
      await service.client.get('/shopping/sales/ord_x', seller),
    ];
  },
  async fulfilSale() {
    const { seller, orderId } = await newSale();
    const fulfil = () => service.client.post(`/shopping/sales/${orderId}/fulfil`, {}, seller);
    return [await fulfil(), await fulfil()];
  },
  async refundSale() {
    const { seller, orderId } = await newSale();
    const refund = (amount: number) => service.client.post(`/shopping/sales/${orderId}/refund`, { amount }, seller);
    return [await refund(10), await refund(20)];
  },
  async nanoStatus() {
    return [await service.client.get('/nano'), await service.client.get('/nano?x=1')];
  },
  nanoSearch: () => walkCall('/nano/search?q=mug&website=demo-shop.example', '/nano/search?q=mug'),
  nanoLookup: () => walkCall('/nano/lookup?email=nobody@example.com', '/nano/lookup?email=nobody'),
  nanoQuote: () => walkCall(quotePath, '/nano/quote?amount=1&action=steal'),
  async getNanoPayment() {
    const shop = await openShopfront(service.database);
    const { paymentId } = receiptsOf(await payFor(service.client, await shop.payer(100n))).second;
    return [
      await service.client.get(`/nano/payments/${paymentId}`),
      await service.client.get('/nano/payments/npy_nothing'),
    ];
  },
  async payNanoDebt() {
    const shop = await openShopfront(service.database);
    const payer = await shop.payer(100n);
    await service.database.db.query(
      "INSERT INTO payers (chain, token, address, debt) VALUES ('MATIC', lower($1), lower($2), 100)",
      [usdc, payer.address],
    );
    const path = `/nano/debt/${payer.address}`;
    const price = await service.client.get(path);
    const terms = termsOf(price);
    const headers = { ...paymentHeader(await sign(payer, terms), terms), prefer: 'wait=0' };
    return [
      price,
      await service.client.request('GET', path, { headers }),
      await service.client.get('/nano/debt/0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'),
      await service.client.get('/nano/debt/0x12'),
    ];
  },
  async payForCall() {
    const { key } = await onePurchase();
    const pay = (fields: object) =>
      service.client.request('POST', '/nano/pay', {
        key,
        body: { url: demoSeller, maxAmount: 0.05, ...fields },
        headers: { 'idempotency-key': `pay-${JSON.stringify(fields)}` },
      });
    return [
      await pay({}),
      await pay({}),
      await pay({ maxAmount: 0.001 }),
      await pay({ url: 'http://127.0.0.1:9/' }),
      await pay({ url: `${service.url}/api${quotePath}` }),
      await pay({ method: 'GET', body: 'x' }),
    ];
  },
  async getPurchase() {
    const { key, id } = await onePurchase();
    return [
      await service.client.get(`/nano/purchases/${id}`, key),
      await service.client.get('/nano/purchases/pur_x', key),
    ];
  },
  async listPurchases() {
    const { key } = await onePurchase();
    return [
      await service.client.get('/nano/purchases', key),
      await service.client.get('/nano/purchases?status=held', key),
    ];
  },
  async createInvoice() {
    const { key, handle } = await service.client.register();
    const other = await newKey();
    const body = { toHandle: handle, amount: 5, currency: 'USDC', description: 'Lunch' };
    return [
      await service.client.post('/invoices', body, other),
      await service.client.post('/invoices', body, key),
      await service.client.post('/invoices', { ...body, toHandle: 'PA-00000000' }, key),
      await service.client.post('/invoices', { ...body, toEmail: freshEmail() }, key),
    ];
  },
  async listInvoices() {
    const { id, sender } = await newInvoice();
    await service.client.post(`/invoices/${id}/cancel`, undefined, sender);
    return [
      await service.client.get('/invoices', sender),
      await service.client.get('/invoices?overdue=perhaps', sender),
    ];
  },
  async getInvoice() {
    const { id, sender } = await newInvoice();
    return [
      await service.client.get(`/invoices/${id}`, sender),
      await service.client.get(`/invoices/${id}`, await newKey()),
    ];
  },
  async payInvoice() {
    const { id, sender, payer } = await newInvoice();
    const poor = await service.client.post(`/invoices/${id}/pay`, undefined, payer);
    await service.client.post('/sandbox/fund', { amount: 100 }, payer);
    return [
      poor,
      await service.client.post(`/invoices/${id}/pay`, undefined, sender),
      await service.client.post(`/invoices/${id}/pay`, undefined, await newKey()),
      await service.client.post(`/invoices/${id}/pay`, undefined, payer),
      await service.client.post(`/invoices/${id}/pay`, undefined, payer),
    ];
  },
  async cancelInvoice() {
    const { id, sender, payer } = await newInvoice();
    return [
      await service.client.post(`/invoices/${id}/cancel`, undefined, payer),
      await service.client.post(`/invoices/${id}/cancel`, undefined, sender),
      await service.client.post(`/invoices/${id}/cancel`, undefined, sender),
    ];
  },
  async getOpenApi() {
    return [await service.client.get('/openapi.json')];
  },
  async listSandboxMessages() {
    return [
      await service.client.get('/sandbox/messages?limit=1', await newKey()),
      await service.client.get('/sandbox/messages?limit=0', await newKey()),
    ];
  },
};

/** These buy at the one shop, and some of them have it misbehave: one after the other. */
const atTheShop = [
  'buyProduct',
  'listOrders',
  'getOrder',
  'redeemCredential',
  'listSales',
  'getSale',
  'fulfilSale',
  'refundSale',
];

/** No walk has anything to do with another one, and most of them wait for a chain: several walks are under way at a time. */
async function walkAll(): Promise<Map<string, Reply[]>> {
  const replies = new Map<string, Reply[]>();
  const elsewhere = Object.keys(walks).filter((name) => !atTheShop.includes(name));
  const walkThrough = async (names: string[]) => {
    for (let name = names.shift(); name !== undefined; name = names.shift()) {
      replies.set(name, (await walks[name]?.()) ?? []);
    }
  };
  await Promise.all([walkThrough([...atTheShop]), ...Array.from({ length: 6 }, () => walkThrough(elsewhere))]);
  return replies;
}

const outsideAddress = '0x8ba1f109551bD432803012645Ac136ddd64DBA72';

function operations(): OpenApiOperation[] {
  return Object.values(document.paths).flatMap((methods) => Object.values(methods));
}

interface Content {
  readonly content: Readonly<
    Record<string, { schema: object; example?: unknown; examples?: Record<string, { value: unknown }> }>
  >;
}

const ajv = addFormats.default(new Ajv2020({ strict: false, allErrors: true }));

/** By its text: most operations answer their errors with the same few schemas, and to compile one takes long. */
const compiled = new Map<string, ValidateFunction>();

function mismatch(schema: object, value: unknown): string | undefined {
  const text = JSON.stringify(schema);
  const validate = compiled.get(text) ?? ajv.compile({ ...schema, components: document['components'] });
  compiled.set(text, validate);
  return validate(value) ? undefined : ajv.errorsText(validate.errors);
}

/** The names of fields that are said to be written by others. */
function markedIn(schema: unknown, name = ''): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const below = Object.entries(schema).flatMap(([key, one]) =>
    markedIn(one, /^(?:anyOf|items|\d+)$/.test(key) ? name : key),
  );
  return 'x-untrusted' in schema ? [name, ...below] : below;
}

/** A shop that decides nothing would hold up the other walks: `orders-cancel.test.ts` shows these. */
const shownElsewhere = new Set([
  'cancelOrder 200',
  'cancelOrder 202',
  // `test/integration/policies/approvals.test.ts` asks the owner in every way.
  ...['createTransfer', 'createCircleTransfer', 'payInvoice', 'withdraw', 'createCrossChainTransfer'].map(withQuestion),
  ...['executeSwap', 'payForCall'].map(withQuestion),
]);

function withQuestion(operation: string): string {
  return `${operation} 202`;
}

describe('the OpenAPI document', () => {
  test('is valid to a public validator', async () => {
    const result = await new Validator().validate(structuredClone(document));
    expect(result.errors ?? []).toEqual([]);
    expect(result.valid).toBe(true);
    expect(document.openapi).toBe('3.1.0');
    expect(document.info.version).toBe('3.0.0');
  });

  test('every operation has examples that fit its own schemas, and error codes', () => {
    const ids = operations().map((operation) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const operation of operations()) {
      const request = operation.requestBody as Content | undefined;
      if (request !== undefined) {
        const { schema, example } = request.content['application/json'] ?? { schema: {} };
        expect([operation.operationId, mismatch(schema, example)]).toEqual([operation.operationId, undefined]);
      }
      for (const [status, response] of Object.entries(operation.responses)) {
        for (const { schema, example, examples } of Object.values((response as unknown as Content).content)) {
          const all = examples === undefined ? [example] : Object.values(examples).map(({ value }) => value);
          expect(all.length).toBeGreaterThan(0);
          for (const one of all) {
            const at = `${operation.operationId} ${status}`;
            expect([at, mismatch(schema, one)]).toEqual([at, undefined]);
          }
        }
      }
      expect(Object.keys(operation.responses).some((status) => status.startsWith('4'))).toBe(true);
    }
  });

  test('marks what somebody else has written, wherever it is read', () => {
    const answerOf = (id: string) => operations().find(({ operationId }) => operationId === id)?.responses['200'];
    const { Problem } = (document['components'] as { schemas: { Problem: object } }).schemas;
    const expected: [string, object | undefined, string[]][] = [
      ['an error', Problem, ['detail']],
      ['a lookup', answerOf('checkAgent'), ['email']],
      ['a history', answerOf('listTransfers'), ['name', 'description']],
      ['an invoice', answerOf('getInvoice'), ['fromName', 'description']],
      ['an order', answerOf('getOrder'), ['productTitle', 'merchantOrderId', 'trackingUrl', 'error']],
      ['a sale', answerOf('getSale'), ['name', 'street', 'extra', 'postalCode', 'city', 'region', 'phone']],
      ['a delivery', answerOf('getWebhookDelivery'), ['body', 'responseBody']],
      ['a purchase', answerOf('getPurchase'), ['headers', 'body', 'receipt']],
    ];
    for (const [what, schema, fields] of expected) {
      expect([what, ...markedIn(schema)]).toEqual(expect.arrayContaining([what, ...fields]));
    }
  });

  test('every documented operation has a walk', () => {
    expect(Object.keys(walks).sort()).toEqual(
      operations()
        .map((operation) => operation.operationId)
        .sort(),
    );
  });

  test('real answers to every documented operation match it to the letter', {
    tags: ['matrix'],
  }, async () => {
    const walked = await walkAll();
    for (const operation of operations()) {
      const replies = walked.get(operation.operationId) ?? [];
      for (const reply of replies) {
        const at = `${operation.operationId} ${reply.status} ${JSON.stringify(reply.body).slice(0, 200)}`;
        const response = operation.responses[reply.status] as unknown as Content | undefined;
        expect(response, at).toBeDefined();
        const type = reply.headers.get('content-type')?.split(';')[0] ?? '';
        const declared = response?.content[type];
        expect(declared, at).toBeDefined();
        expect(mismatch(declared?.schema ?? {}, reply.body), at).toBeUndefined();
        // A price is no problem, and has no code.
        if (reply.status >= 400 && reply.status !== 402)
          expect(Object.keys(declared?.examples ?? {}), at).toContain(reply.body.code);
      }
      const successes = Object.keys(operation.responses).filter((status) => status.startsWith('2'));
      const seen = new Set(replies.map((reply) => String(reply.status)));
      expect(
        successes.filter((status) => !seen.has(status) && !shownElsewhere.has(`${operation.operationId} ${status}`)),
        operation.operationId,
      ).toEqual([]);
    }
  });
});

/** What a key has to be allowed to do, for every operation that takes one. */
const allowed: Record<Scope | 'any', readonly string[]> = {
  any: ['POST /account/revoke-key'],
  read: [
    'GET /account',
    'GET /account/audit',
    'GET /account/budgets',
    'GET /account/decisions',
    'GET /account/decisions/export',
    'GET /account/decisions/{id}/proof',
    'GET /account/events',
    'GET /account/keys',
    'GET /account/keys/{id}/policy',
    'GET /account/proof',
    'GET /account/sessions',
    'GET /account/statement',
    'GET /account/withdrawal-addresses',
    'GET /account/withdrawal-limits',
    'GET /agents/check',
    'GET /approvals',
    'GET /approvals/{id}',
    'GET /circle/balance',
    'GET /circle/buy-sessions',
    'GET /circle/buy-sessions/{id}',
    'GET /circle/deposit-address',
    'GET /circle/deposits',
    'GET /circle/lookup',
    'GET /circle/transfers',
    'GET /circle/transfers/{transferId}',
    'GET /circle/withdrawals',
    'GET /circle/withdrawals/{txId}',
    'GET /cross-chain/history',
    'GET /cross-chain/status/{transferId}',
    'GET /cross-chain/wallets',
    'GET /invoices',
    'GET /invoices/{id}',
    'GET /nano/purchases',
    'GET /nano/purchases/{id}',
    'GET /sandbox/messages',
    'GET /shopping/merchants',
    'GET /shopping/merchants/{domain}',
    'GET /shopping/orders',
    'GET /shopping/orders/{orderId}',
    'GET /shopping/sales',
    'GET /shopping/sales/{orderId}',
    'GET /shopping/search/stream',
    'GET /swap/balances',
    'GET /swap/history',
    'GET /swap/quote',
    'GET /swap/{txId}',
    'GET /webhooks',
    'GET /webhooks/deliveries',
    'GET /webhooks/deliveries/{id}',
    'POST /account/policy/simulate',
    'POST /shopping/search',
  ],
  pay: [
    'POST /agent/transfer',
    'POST /approvals/{id}/cancel',
    'POST /circle/buy-session',
    'POST /circle/transfer',
    'POST /cross-chain/transfer',
    'POST /invoices',
    'POST /invoices/{id}/cancel',
    'POST /invoices/{id}/pay',
    'POST /nano/pay',
    'POST /sandbox/fund',
    'POST /shopping/buy',
    'POST /shopping/orders/{orderId}/cancel',
    'POST /shopping/sales/{orderId}/refund',
    'POST /swap/execute',
  ],
  withdraw: ['POST /circle/withdraw', 'POST /circle/withdrawals/{txId}/cancel'],
  manage: [
    'DELETE /account/email',
    'DELETE /account/keys/{id}',
    'DELETE /account/keys/{id}/policy',
    'DELETE /account/sessions/{id}',
    'DELETE /account/withdrawal-addresses/{address}',
    'DELETE /shopping/merchants/{domain}',
    'DELETE /webhooks/{id}',
    'PATCH /account',
    'PATCH /shopping/merchants/{domain}',
    'POST /account/close',
    'POST /account/email',
    'POST /account/email/code',
    'POST /account/email/confirm',
    'POST /account/email/verify',
    'POST /account/events',
    'POST /account/keys',
    'POST /account/keys/revoke-all',
    'POST /account/keys/{id}/freeze',
    'POST /account/keys/{id}/rotate',
    'POST /account/keys/{id}/unfreeze',
    'POST /account/password',
    'POST /account/phone/code',
    'POST /account/phone/verify',
    'POST /account/tier',
    'POST /account/withdrawal-addresses',
    'POST /circle/wallet',
    'POST /cross-chain/wallet',
    'POST /shopping/merchants',
    'POST /shopping/merchants/{domain}/verify',
    'POST /shopping/sales/{orderId}/fulfil',
    'POST /webhooks',
    'POST /webhooks/deliveries/{id}/retry',
    'POST /webhooks/{id}/test',
    'PUT /account/keys/{id}/policy',
    'PUT /account/withdrawal-addresses/allow-list',
  ],
};

test('every operation with a key says what the key must be allowed to do, and no other does', () => {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation })),
  );
  for (const { name, operation } of operations) {
    const needsKey = (operation['security'] as readonly unknown[]).length > 0;
    expect(operation['x-scope'] !== undefined, name).toBe(needsKey);
  }
  for (const [scope, names] of Object.entries(allowed)) {
    const having = operations.filter(({ operation }) => operation['x-scope'] === scope);
    expect(having.map(({ name }) => name).sort()).toEqual(names);
  }
});

/** Of the operations that a model may choose. */
const tools = {
  onlyRead:
    'check_budget find_recipient get_account get_balance list_history list_invoices quote_fee search_products swap_quote',
  create: 'add_money create_invoice',
  takeMoney: 'bridge buy_product pay_invoice pay_url send_money swap withdraw',
  reachThirdParties: 'buy_product pay_url search_products',
};

test('every tool says truly what it may do', () => {
  const all = Object.values(document.paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap((operation) => (operation['x-tool'] === undefined ? [] : [{ operation, ...operation['x-tool'] }]));
  const having = (fits: (tool: (typeof all)[number]) => boolean) =>
    all
      .filter(fits)
      .map(({ name }) => name)
      .sort()
      .join(' ');
  expect(having(({ hints }) => hints.readOnly)).toBe(tools.onlyRead);
  expect(having(({ hints }) => !hints.readOnly && !hints.destructive)).toBe(tools.create);
  expect(having(({ hints }) => hints.destructive)).toBe(tools.takeMoney);
  expect(having(({ hints }) => hints.openWorld)).toBe(tools.reachThirdParties);
  for (const { name, operation, hints } of all) {
    const takes = operation.parameters.map((parameter) => parameter['name']);
    expect(!hints.readOnly || !takes.includes('Idempotency-Key'), name).toBe(true);
    expect(hints.destructive, name).toBe(takes.includes('Duplicate-Guard'));
    // A call of a paid endpoint may be repeated on purpose, so the guard lets it.
    if (name !== 'pay_url') expect(hints.idempotent, name).toBe(hints.readOnly || hints.destructive);
  }
});
