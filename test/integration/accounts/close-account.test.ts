import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { addAccountCommands } from '../../../src/accounts/commands.ts';
import type { Database } from '../../../src/kernel/db/database.ts';
import type { Reply, TestAccount } from '../../support/client.ts';
import { useService } from '../../support/service.ts';

const service = useService();
const db = () => service.database.db;

const close = ({ key, password }: TestAccount, given = password) =>
  service.client.post('/account/close', { password: given }, key);
const outcome = ({ status, body }: Reply) => [status, body.code];
const fund = ({ key }: TestAccount, amount: number) => service.client.post('/sandbox/fund', { amount }, key);
const pay = (from: TestAccount, to: string, amount: number) =>
  service.client.post('/agent/transfer', { to, amount, currency: 'USDC' }, from.key);
const balanceOf = async (handle: string): Promise<string> => {
  const { rows } = await db().query<{ sum: string }>(
    `SELECT coalesce(sum(l.balance), 0)::text AS sum FROM accounts a
       LEFT JOIN ledger.accounts l ON l.id >= a.id << 14 AND l.id < (a.id + 1) << 14 WHERE a.handle = $1`,
    [handle],
  );
  return rows[0]?.sum ?? '';
};

async function funded(amount = 100): Promise<TestAccount> {
  const account = await service.client.register();
  await fund(account, amount);
  await expect.poll(() => balanceOf(account.handle)).not.toBe('0');
  return account;
}

test('closing ends all keys and webhooks, erases the person and frees the email', async () => {
  const account = await service.client.register({ name: 'Ada Lovelace' });
  const { key, handle, email, password } = account;
  const address = '0x71C7656EC7ab88b098defB751B7401B5f6d8976F';
  const patched = await service.client.patch(
    '/account',
    {
      phone: '+14155550177',
      withdrawalAddress: address,
      shippingAddress: '12 St James Square, London SW1Y 4LB, UK',
    },
    key,
  );
  expect(patched.status).toBe(200);
  const hook = { url: 'https://agent.example.com/hook', events: ['payment.sent'] };
  await service.client.post('/webhooks', hook, key);
  await service.client.post('/account/withdrawal-addresses', { address }, key);
  const { body: other } = await service.client.post('/account/keys', { name: 'Ada’s laptop' }, key);

  const closed = await close(account);
  expect([closed.status, closed.body]).toEqual([200, { closed: true, handle, closedAt: expect.any(String) }]);
  for (const one of [key, other.apiKey]) expect((await service.client.get('/account', one)).status).toBe(401);

  const { rows } = await db().query('SELECT to_jsonb(a) AS row FROM accounts a WHERE handle = $1', [handle]);
  expect(rows[0]?.['row']).toMatchObject({
    name: 'Closed account',
    email: null,
    phone: null,
    withdrawal_address: null,
    shipping_address: null,
    password_hash: '',
  });
  const id = rows[0]?.['row'].id;
  for (const [table, where] of [
    ['api_keys', 'revoked_at IS NULL OR name IS NOT NULL OR last_used_from IS NOT NULL'],
    ['webhooks', "status <> 'deleted'"],
    ['messages', 'true'],
    ['verification_codes', 'true'],
    ['withdrawal_addresses', 'true'],
    ['ledger.event_subscriptions', 'true'],
  ]) {
    const left = await db().query(`SELECT FROM ${table} WHERE account_id = $1 AND (${where})`, [id]);
    expect([table, left.rowCount]).toEqual([table, 0]);
  }
  const audit = await db().query('SELECT * FROM audit_log WHERE account_id = $1', [id]);
  expect(audit.rows.map(({ action }) => action)).toContain('account.closed');
  const text = JSON.stringify(audit.rows, (_, value) => (typeof value === 'bigint' ? String(value) : value));
  for (const personal of [email, '+14155550177', 'Lovelace', 'St James']) expect(text).not.toContain(personal);

  const again = await service.client.post('/agent/register', { email, password, name: 'Ada' });
  expect([again.status, again.body.isNewAccount]).toEqual([201, true]);
  expect(again.body.agentHandle).not.toBe(handle);
});

test('the addresses of its orders are erased, and of an order nothing else can be', async () => {
  const account = await service.client.register();
  const where = {
    name: 'Ada Lovelace',
    street: '12 St James Square',
    postalCode: 'SW1Y 4JH',
    city: 'London',
    country: 'GB',
  };
  await db().query(
    `INSERT INTO orders (id, account_id, domain, channel, checkout, product_title, product_brand, product_url, item_id,
         shipping_address, likeness, asset, amount, fee, transfer_id, ask_key, cancel_key, expires_at, void_at, status, finished_at)
     SELECT 'ord_erase', id, 'shop.example', 'webhook', '{}', 'Mug', 'Mugs', 'https://shop.example/mug', 'mug', $2,
         sha256('mug'), 'USDC', 5, 0, 'tr_x', gen_random_uuid(), gen_random_uuid(), now(), now(), 'failed', now()
       FROM accounts WHERE handle = $1`,
    [account.handle, where],
  );
  const change = (set: string) => db().query(`UPDATE orders SET ${set} WHERE id = 'ord_erase'`);
  await expect(change('amount = 6')).rejects.toThrow();
  await expect(change(`amount = 6, shipping_address = '{"name": "Erased"}'`)).rejects.toThrow('only the address');
  await expect(change(`shipping_address = '{"name": "Eve"}'`)).rejects.toThrow();
  expect((await close(account)).status).toBe(200);
  const address = async () =>
    (await db().query("SELECT shipping_address AS address FROM orders WHERE id = 'ord_erase'")).rows[0]?.['address'];
  // A row that another session holds at that moment is left to the job that erases.
  await expect.poll(address).toEqual({ name: 'Erased', street: 'Erased', city: 'Erased', country: 'GB' });
});

test('it needs the password, and a key that may manage', async () => {
  const account = await service.client.register();
  expect(outcome(await close(account, 'not the password'))).toEqual([401, 'wrong_password']);
  const { body } = await service.client.post('/account/keys', { name: 'Payer', scopes: ['read', 'pay'] }, account.key);
  expect(outcome(await close({ ...account, key: body.apiKey }))).toEqual([403, 'scope_required']);
  expect((await service.client.get('/account', account.key)).status).toBe(200);
});

test('of several requests at once, one closes', async () => {
  const account = await service.client.register();
  const replies = await Promise.all([close(account), close(account), close(account)]);
  expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 401, 401]);
});

describe('what keeps an account open', () => {
  test('money, anywhere, and nothing is erased', async () => {
    const account = await funded(5);
    const refused = await close(account);
    expect([...outcome(refused), refused.body.balances]).toEqual([
      409,
      'balance_not_zero',
      [{ chain: 'MATIC', currency: 'USDC', amount: '5' }],
    ]);
    expect((await service.client.get('/account', account.key)).body.email).toBe(account.email);
  });

  test('a held deposit, a domain and a freeze, until they have ended', async () => {
    const account = await service.client.register();
    const { rows } = await db().query<{ id: bigint }>('SELECT id FROM accounts WHERE handle = $1', [account.handle]);
    const id = rows[0]?.id;
    await db().query(
      `INSERT INTO held_deposits (id, chain, tx_hash, position, block_number, account_id, address, sender, asset, atomic, proofs, because)
       VALUES ('dep_held', 'MATIC', '0xheld', 0, 1, $1, '0x', '0x', 'USDC', 5, '{}', 'one node')`,
      [id],
    );
    await db().query(
      "INSERT INTO merchants (domain, account_id, state, disabled_by) VALUES ('shop.example', $1, 'disabled', 'operator')",
      [id],
    );
    await db().query('UPDATE accounts SET frozen_at = now() WHERE id = $1', [id]);
    const refused = await close(account);
    expect([...outcome(refused), refused.body.underWay]).toEqual([
      409,
      'account_busy',
      [
        { kind: 'deposit', id: 'dep_held' },
        { kind: 'domain', id: 'shop.example' },
        { kind: 'freeze', id: 'by the operator' },
      ],
    ]);
    await db().query('DELETE FROM held_deposits WHERE account_id = $1', [id]);
    await db().query('DELETE FROM merchants WHERE account_id = $1', [id]);
    await db().query('UPDATE accounts SET frozen_at = NULL WHERE id = $1', [id]);
    expect((await close(account)).status).toBe(200);
  });

  test('a withdrawal under way', async () => {
    const account = await funded(100);
    await db().query('UPDATE accounts SET frozen_at = NULL WHERE handle = $1', [account.handle]);
    const outside = '0x71C7656EC7ab88b098defB751B7401B5f6d8976F';
    const withdrawal = await service.client.post('/circle/withdraw', { amount: 100, address: outside }, account.key);
    const first = await close(account);
    // The worker may have been faster.
    if (first.status !== 200) {
      expect(outcome(first)).toEqual([409, 'account_busy']);
      expect(first.body.underWay[0].kind).toBe('withdrawal');
      await expect.poll(async () => (await close(account)).status).toBe(200);
    }
    expect(withdrawal.status).toBeLessThan(300);
  });
});

describe('a closed account', () => {
  test('is found by no one, and paid by no one, also where its handle is remembered', async () => {
    const [payer, account] = [await funded(), await service.client.register()];
    expect((await pay(payer, account.handle, 1)).status).toBe(200);
    expect((await pay(account, payer.handle, 1)).body.code).toBe('insufficient_balance');
    const { rows } = await db().query<{ balance: string }>(
      'SELECT l.balance::text FROM ledger.accounts l JOIN accounts a ON l.id >= a.id << 14 AND l.id < (a.id + 1) << 14 WHERE a.handle = $1 AND l.balance > 0',
      [account.handle],
    );
    await pay(account, payer.handle, Number(rows[0]?.balance) / 1e6);
    expect(await balanceOf(account.handle)).toBe('0');
    const invoice = { amount: 1, currency: 'USDC', description: 'Tea' };
    const { body: sent } = await service.client.post('/invoices', { ...invoice, toHandle: payer.handle }, account.key);
    const { body: got } = await service.client.post('/invoices', { ...invoice, toHandle: account.handle }, payer.key);
    expect((await close(account)).status).toBe(200);
    expect(outcome(await pay(payer, account.handle, 1))).toEqual([404, 'recipient_not_found']);
    expect((await service.client.get(`/agents/check?handle=${account.handle}`, payer.key)).status).toBe(404);
    for (const { id } of [sent, got])
      expect((await service.client.get(`/invoices/${id}`, payer.key)).body.status).toBe('cancelled');
    const history = await service.client.get('/circle/transactions', payer.key);
    expect(JSON.stringify(history.body)).not.toContain(account.email);
  });

  test('a payment that comes while it closes is either there, and keeps it open, or refused', async () => {
    const payer = await funded();
    for (let round = 0; round < 6; round++) {
      const account = await service.client.register();
      const [paid, closed] = await Promise.all([pay(payer, account.handle, 1), close(account)]);
      const both = `${paid.status} ${closed.status}`;
      expect(['200 409', '404 200']).toContain(both);
      expect((await balanceOf(account.handle)) === '0').toBe(closed.status === 200);
    }
  });

  test('a deposit that arrives afterwards is credited, and the operator sees it', async () => {
    const [account, sender] = [await service.client.register(), await funded()];
    const { depositAddress } = (await service.client.get('/account', account.key)).body;
    expect((await close(account)).status).toBe(200);
    const sent = await service.client.post('/circle/withdraw', { amount: 50, address: depositAddress }, sender.key);
    expect(sent.status).toBeLessThan(300);
    await expect.poll(() => balanceOf(account.handle)).not.toBe('0');

    const lines: string[] = [];
    const program = new Command('paywright').exitOverride();
    const withDatabase = (work: (db: Database) => Promise<void>) => work(db());
    addAccountCommands(program, { withDatabase, say: (line) => void lines.push(line), operator: 'olga' });
    await program.parseAsync(['node', 'paywright', 'account', 'show', account.handle]);
    expect(lines.join('\n')).toMatch(/closed +20/);
    expect(lines.join('\n')).toContain('Closed account');
  });
});

describe('funding links', () => {
  test('of a closed account open no page', async () => {
    const account = await service.client.register();
    const { url } = (await service.client.post('/circle/buy-session', { amount: 50 }, account.key)).body;
    expect((await fetch(url)).status).toBe(200);
    expect((await close(account)).status).toBe(200);
    const page = await fetch(url);
    expect([page.status, await page.text()]).toEqual([404, expect.not.stringContaining('Pay by card')]);
  });

  test.each([
    ['pending', 409],
    ['sent', 409],
    ['failed', 200],
  ])('with a card payment that is %s: closing answers %i', async (state, status) => {
    const account = await service.client.register();
    await service.client.post('/circle/buy-session', { amount: 50 }, account.key);
    await db().query(
      `INSERT INTO funding_card_payments (provider, payment_id, link_id, state)
       SELECT 'test', l.id, l.id, $2 FROM funding_links l JOIN accounts a ON a.id = l.account_id WHERE a.handle = $1`,
      [account.handle, state],
    );
    expect((await close(account)).status).toBe(status);
  });
});
