import { expect, test } from 'vitest';
import type { Reply, TestAccount } from '../../support/client.ts';
import { useService } from '../../support/service.ts';

const service = useService();
const db = () => service.database.db;

const close = ({ key, password }: TestAccount) => service.client.post('/account/close', { password }, key);
const first = '0x71C7656EC7ab88b098defB751B7401B5f6d8976F';
const second = '0x90F79bf6EB2c4f870365E785982E1f101E93b906';
const invoice = { amount: 1, currency: 'USDC', description: 'Tea' };
const hook = { url: 'https://agent.example.com/hook', events: ['payment.sent'] };

/** What must be empty once an account is closed, whatever was under way. */
const personal = {
  messages: 'account_id = $1',
  withdrawal_addresses: 'account_id = $1',
  withdrawal_allow_lists: 'account_id = $1',
  webhooks: "account_id = $1 AND status <> 'deleted'",
  'ledger.event_subscriptions': 'account_id = $1',
  api_keys: 'account_id = $1 AND revoked_at IS NULL',
  verification_codes: 'account_id = $1',
  merchant_claims: 'account_id = $1',
  funding_links: 'account_id = $1 AND created_at > (SELECT closed_at FROM accounts WHERE id = $1)',
  invoices: "(from_account_id = $1 OR to_account_id = $1) AND status = 'pending'",
};

async function leftOf({ handle }: TestAccount): Promise<string[]> {
  const { rows } = await db().query<{ id: bigint }>('SELECT id FROM accounts WHERE handle = $1', [handle]);
  const left = [];
  for (const [table, where] of Object.entries(personal)) {
    const { rowCount } = await db().query(`SELECT FROM ${table} WHERE ${where}`, [rows[0]?.id]);
    if (rowCount !== 0) left.push(`${rowCount} ${table}`);
  }
  return left;
}

/** Each round begins the others at another moment of the closing. */
test('nothing that runs beside it writes to a closed account, and none of it fails', async () => {
  const stranger = await service.client.register();
  const { client } = service;
  let closings = 0;
  for (let round = 0; round < 12; round++) {
    const owner = await client.register({ name: 'Ada Lovelace' });
    const { key } = owner;
    await client.post('/account/withdrawal-addresses', { address: first }, key);
    const requests: (() => Promise<Reply>)[] = [
      () => client.patch('/account', { withdrawalAddress: first }, key),
      () => client.post('/account/withdrawal-addresses', { address: second }, key),
      () => client.request('DELETE', `/account/withdrawal-addresses/${first}`, { key }),
      () => client.post('/invoices', { ...invoice, toHandle: stranger.handle }, key),
      () => client.post('/invoices', { ...invoice, toHandle: owner.handle }, stranger.key),
      () => client.post('/webhooks', hook, key),
      () => client.post('/circle/buy-session', { amount: 5 }, key),
      () => client.post('/shopping/merchants', { website: `https://shop${round}.example.com` }, key),
      () => client.post('/agent/register', { email: owner.email, password: owner.password, name: 'Ada' }),
    ];
    const closing = close(owner);
    for (let n = 0; n < round; n++) await client.get('/health');
    const replies = await Promise.all([closing, ...requests.map((send) => send())]);
    expect(replies.map(({ status }) => status).filter((status) => status >= 500)).toEqual([]);
    if (replies[0]?.status !== 200) continue;
    closings++;
    expect([round, await leftOf(owner)]).toEqual([round, []]);
  }
  expect(closings).toBeGreaterThan(0);
}, 120_000);
