import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { sandboxSecret } from '../../../sandbox/secret.ts';
import { addGiveKeyCommand } from '../../../src/accounts/keys/key-commands.ts';
import { createSecrets } from '../../../src/kernel/secrets/secrets.ts';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import { eraseShippedAddresses } from '../../../src/shopping/orders/feature.ts';
import type { Reply, TestAccount } from '../../support/client.ts';
import { useService } from '../../support/service.ts';

const service = useService();
const db = () => service.database.db;

const close = ({ key, password }: TestAccount, more = {}) =>
  service.client.post('/account/close', { password, ...more }, key);
const outcome = ({ status, body }: Reply) => [status, body.code];
const idOf = async ({ handle }: TestAccount) =>
  (await db().query<{ id: bigint }>('SELECT id FROM accounts WHERE handle = $1', [handle])).rows[0]?.id;

async function holding(amount: string, currency = 'USDC'): Promise<TestAccount> {
  const account = await service.client.register();
  await deposit((await service.client.get('/account', account.key)).body.depositAddress, amount, currency);
  await expect.poll(() => balancesOf(account), { timeout: 20_000 }).not.toEqual([]);
  return account;
}
const deposit = (address: string, amount: string, currency = 'USDC') =>
  service.client.post('/sandbox/faucet', { address, chain: 'MATIC', currency, amount });
const balancesOf = async (account: TestAccount) =>
  (
    await db().query<{ balance: string }>(
      'SELECT balance::text FROM ledger.accounts WHERE id >= $1::bigint << 14 AND id < ($1::bigint + 1) << 14 AND balance > 0',
      [await idOf(account)],
    )
  ).rows.map(({ balance }) => balance);

describe('what is too little to be moved', () => {
  test('is given up with `forfeit`, and the books and reserves agree', async () => {
    const account = await holding('0.000000000000000001', 'DAI');
    const refused = await close(account);
    expect(outcome(refused)).toEqual([409, 'balance_not_zero']);
    expect(refused.body.detail).toContain('`forfeit`');
    expect((await close(account, { forfeit: false })).status).toBe(409);
    expect((await close(account, { forfeit: true })).status).toBe(200);
    expect(await balancesOf(account)).toEqual([]);
    const { rows } = await db().query(
      "SELECT sender_id = $1 AS own, amount::text, recipient_id FROM ledger.postings WHERE type = 'forfeited' AND sender_id = $1",
      [await idOf(account)],
    );
    expect(rows).toEqual([{ own: true, amount: '1', recipientId: null }]);
    expect((await verifyLedger(db())).problems).toEqual([]);
    const { body } = await service.client.get('/reserves');
    const differences = body.reserves.map(({ difference }: { difference: unknown }) => String(difference));
    expect(differences.filter((difference: string) => difference !== '0')).toEqual([]);
  });

  test('is one of each asset, and no more', async () => {
    const [little, much] = [await holding('1'), await holding('1.000001')];
    const refused = await close(much, { forfeit: true });
    expect(outcome(refused)).toEqual([409, 'balance_not_zero']);
    expect(refused.body.detail).not.toContain('forfeit');
    expect(await balancesOf(much)).toEqual(['1000001']);
    expect((await close(little, { forfeit: true })).status).toBe(200);
    expect(await balancesOf(little)).toEqual([]);
  });

  test('is given up once, however often it is asked for at once', async () => {
    const account = await holding('0.5');
    const replies = await Promise.all([1, 2, 3].map(() => close(account, { forfeit: true })));
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 401, 401]);
    expect((await verifyLedger(db())).problems).toEqual([]);
  });
});

describe('the address of an order', () => {
  const home = { name: 'Ada Lovelace', street: '12 St James Square', city: 'London', country: 'GB' };
  const erased = { name: 'Erased', street: 'Erased', city: 'Erased', country: 'GB' };
  let number = 0;

  async function order(buyer: TestAccount, seller: TestAccount | undefined, age = '1 day'): Promise<string> {
    const id = `ord_left${number++}`;
    await db().query(
      `INSERT INTO orders (id, account_id, seller_id, domain, channel, checkout, product_title, product_brand, product_url, item_id,
           shipping_address, likeness, asset, amount, fee, charged, charged_fee, transfer_id, ask_key, cancel_key, expires_at,
           void_at, status, finished_at)
       VALUES ($1, $2, $3, 'shop.example', 'webhook', '{}', 'Mug', 'Mugs', 'https://shop.example/mug', 'mug', $4,
           sha256('mug'), 'USDC', 5, 0, 5, 0, $1, gen_random_uuid(), gen_random_uuid(), now(), now(), 'completed',
           now() - $5::interval)`,
      [id, await idOf(buyer), seller === undefined ? null : await idOf(seller), home, age],
    );
    return id;
  }
  const addressOf = async (id: string) =>
    (await db().query('SELECT shipping_address AS a FROM orders WHERE id = $1', [id])).rows[0]?.['a'];

  test('stays while a shop with an account still has to ship, and goes when it has', async () => {
    const [buyer, seller] = [await service.client.register(), await service.client.register()];
    const [waiting, shipped, refunded, old, none] = [
      await order(buyer, seller),
      await order(buyer, seller),
      await order(buyer, seller),
      await order(buyer, seller, '31 days'),
      await order(buyer, undefined),
    ];
    expect((await close(buyer)).status).toBe(200);
    for (const id of [waiting, shipped, refunded]) expect([id, await addressOf(id)]).toEqual([id, home]);
    for (const id of [old, none]) expect([id, await addressOf(id)]).toEqual([id, erased]);
    const { body: sale } = await service.client.get(`/shopping/sales/${waiting}`, seller.key);
    expect(sale.shippingAddress).toMatchObject(home);

    await service.client.post(`/shopping/sales/${shipped}/fulfil`, {}, seller.key);
    await db().query("INSERT INTO order_refunds (id, order_id, atomic, transfer_id) VALUES ('rfd_left', $1, 5, 'x')", [
      refunded,
    ]);
    await eraseShippedAddresses(db());
    for (const id of [shipped, refunded]) expect([id, await addressOf(id)]).toEqual([id, erased]);
    expect(await addressOf(waiting)).toEqual(home);
  });

  test('of an account that is open stays', async () => {
    const id = await order(await service.client.register(), undefined, '90 days');
    await eraseShippedAddresses(db());
    expect(await addressOf(id)).toEqual(home);
  });
});

test('the email is on no invoice that the account has paid, or that was cancelled', async () => {
  const [account, sender] = [await holding('1'), await service.client.register()];
  const ask = async () =>
    (
      await service.client.post(
        '/invoices',
        { toEmail: account.email, amount: 1, currency: 'USDC', description: 'Tea' },
        sender.key,
      )
    ).body.id;
  const [paid, pending, cancelled] = [await ask(), await ask(), await ask()];
  expect((await service.client.post(`/invoices/${paid}/pay`, undefined, account.key)).status).toBe(200);
  await service.client.post(`/invoices/${cancelled}/cancel`, undefined, sender.key);
  expect((await close(account)).status).toBe(200);
  const seen = async (id: string) => (await service.client.get(`/invoices/${id}`, sender.key)).body;
  expect(await seen(paid)).toMatchObject({ status: 'paid', toEmail: null, toHandle: account.handle });
  // These were the email's, and never the account's.
  expect(await seen(pending)).toMatchObject({ status: 'pending', toEmail: account.email, toHandle: null });
  expect(await seen(cancelled)).toMatchObject({ status: 'cancelled', toEmail: account.email, toHandle: null });
});

describe('the operator', () => {
  async function giveKey({ handle }: TestAccount): Promise<string[]> {
    const lines: string[] = [];
    const secrets = createSecrets(await sandboxSecret(db()));
    const program = new Command('paywright').exitOverride();
    addGiveKeyCommand(program.command('account'), {
      withSecrets: (work) => work({ db: db(), secrets }),
      say: (line) => void lines.push(line),
      operator: 'olga',
    });
    await program.parseAsync(['node', 'paywright', 'account', 'give-key', handle]);
    return lines;
  }

  test('gives a key for a day to a closed account that holds money, and to no other', async () => {
    const [account, other] = [await service.client.register(), await service.client.register()];
    const { depositAddress } = (await service.client.get('/account', account.key)).body;
    expect((await close(account)).status).toBe(200);
    await expect(giveKey(account)).rejects.toThrow('holds no money');

    await deposit(depositAddress, '50');
    await expect.poll(() => balancesOf(account), { timeout: 20_000 }).toEqual(['50000000']);
    const [key = '', note] = await giveKey(account);
    expect(note).toContain('24 hours');
    const { rows } = await db().query<{ scopes: string[]; hours: number }>(
      `SELECT scopes, extract(epoch FROM expires_at - created_at)::float8 / 3600 AS hours
         FROM api_keys WHERE account_id = $1 AND revoked_at IS NULL`,
      [await idOf(account)],
    );
    expect([rows.length, rows[0]?.scopes]).toEqual([1, ['read', 'pay', 'withdraw']]);
    expect(rows[0]?.hours).toBeCloseTo(24, 1);

    const paid = await service.client.post('/agent/transfer', { to: other.handle, amount: 50, currency: 'USDC' }, key);
    expect(paid.status).toBe(200);
    expect(await balancesOf(account)).toEqual([]);
    expect(outcome(await service.client.patch('/account', { name: 'Eve' }, key))).toEqual([403, 'scope_required']);
    expect((await service.client.get(`/agents/check?handle=${account.handle}`, other.key)).status).toBe(404);
    const closed = await db().query('SELECT FROM accounts WHERE handle = $1 AND closed_at IS NOT NULL', [
      account.handle,
    ]);
    expect(closed.rowCount).toBe(1);
    const audit = await db().query(
      "SELECT operator FROM audit_log WHERE account_id = $1 AND action = 'key.created' AND operator = 'olga'",
      [await idOf(account)],
    );
    expect(audit.rowCount).toBe(1);
  });
});
