import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { addAuditCommand } from '../../../src/accounts/audit/commands.ts';
import { recordAudit, recordCommand } from '../../../src/accounts/audit/record.ts';
import { addAccountCommands } from '../../../src/accounts/commands.ts';
import type { Database } from '../../../src/kernel/db/database.ts';
import { useService } from '../../support/service.ts';

const service = useService({ roles: { serve: true, work: false } });
const db = (): Database => service.database.db;

async function idOf(handle: string): Promise<bigint> {
  const { rows } = await db().query<{ id: bigint }>('SELECT id FROM accounts WHERE handle = $1', [handle]);
  return rows[0]?.id ?? 0n;
}

/** Runs a command as the operator would. */
async function paywright(...args: string[]): Promise<string[]> {
  const lines: string[] = [];
  const program = new Command('paywright').exitOverride();
  const tools = {
    withDatabase: (work: (db: Database) => Promise<void>) => work(db()),
    say: (line: string) => void lines.push(line),
    operator: 'olga',
  };
  addAccountCommands(program, tools);
  addAuditCommand(program, tools);
  await program.parseAsync(['node', 'paywright', ...args]);
  return lines;
}

describe('the audit log', () => {
  test('tells an owner which key did what from where, and what the operator did without a name', async () => {
    const ada = await service.client.register();
    await service.client.post('/account/tier', { tier: 'pro' }, ada.key);
    await paywright('account', 'freeze', ada.handle);
    const { status, body } = await service.client.get('/account/audit?limit=2', ada.key);
    expect(status).toBe(200);
    expect(body.entries).toMatchObject([
      { action: 'account.frozen', byOperator: true, keyId: null, address: null },
      { action: 'tier.changed', byOperator: false, keyId: expect.stringMatching(/^key_/), details: { tier: 'pro' } },
    ]);
    expect(body.entries[1].address).toMatch(/127\.0\.0\.1|::1/);
    expect(JSON.stringify(body)).not.toContain('olga');
  });

  test('is read page by page and by action, and is nobody else’s', async () => {
    const ada = await service.client.register();
    const ben = await service.client.register();
    for (const tier of ['pro', 'free', 'pro']) await service.client.post('/account/tier', { tier }, ada.key);
    const seen: string[] = [];
    let cursor = '';
    do {
      const { body } = await service.client.get(`/account/audit?action=tier.changed&limit=1${cursor}`, ada.key);
      seen.push(...body.entries.map(({ details }: { details: { tier: string } }) => details.tier));
      cursor = body.nextCursor === null ? '' : `&cursor=${body.nextCursor}`;
    } while (cursor !== '');
    expect(seen).toEqual(['pro', 'free', 'pro']);
    const others = await service.client.get('/account/audit?action=tier.changed', ben.key);
    expect(others.body).toEqual({ entries: [], nextCursor: null });
    expect((await service.client.get('/account/audit?action=nothing', ada.key)).status).toBe(400);
  });

  test('names webhooks that come and go by their host, a phone number that is gone, and that orders are sent elsewhere', async () => {
    const { key } = await service.client.register();
    const url = 'https://agent.example.com/hook?token=s3cret';
    const { body: made } = await service.client.post('/webhooks', { url, events: ['payment.sent'] }, key);
    await service.client.request('DELETE', `/webhooks/${made.id}`, { key });
    for (const phone of ['+14155550142', null]) await service.client.patch('/account', { phone }, key);
    for (const name of ['Ada', 'Ben'])
      await service.client.patch('/account', { name, shippingAddress: '1 Dark Alley, Austin, TX 78701' }, key);
    const { body } = await service.client.get('/account/audit', key);
    expect(body.entries.map(({ action }: { action: string }) => action)).toEqual(
      expect.arrayContaining(['webhook.created', 'webhook.deleted', 'phone.removed']),
    );
    const { body: sent } = await service.client.get('/account/audit?action=shipping_address.changed', key);
    expect(sent.entries).toMatchObject([{ details: {} }]);
    expect(JSON.stringify(body)).toContain('agent.example.com');
    expect(JSON.stringify(body)).not.toMatch(/s3cret|4155550142/);
  });

  test('only grows: nothing in it is changed or taken away', async () => {
    await recordAudit(db(), { accountId: null, action: 'secret.rotated', by: { operator: 'olga' } });
    for (const deed of ["UPDATE audit_log SET operator = 'ben'", 'DELETE FROM audit_log', 'TRUNCATE audit_log']) {
      await expect(db().query(deed)).rejects.toThrow('the audit log only grows');
    }
  });

  test('a deed that does not happen leaves no entry', async () => {
    const ada = await service.client.register();
    const accountId = await idOf(ada.handle);
    const broken = db().transaction(async (tx) => {
      await recordAudit(tx, { accountId, action: 'account.frozen', by: {} });
      throw new Error('no');
    });
    await expect(broken).rejects.toThrow('no');
    const { body } = await service.client.get('/account/audit?action=account.frozen', ada.key);
    expect(body.entries).toEqual([]);
  });
});

describe('paywright audit', () => {
  test('shows who did it, notes included, and nothing that steers a terminal', async () => {
    const ada = await service.client.register();
    const accountId = await idOf(ada.handle);
    await recordAudit(db(), {
      accountId,
      action: 'account.frozen',
      by: { operator: 'olga' },
      details: { reason: 'a\u001b[2J' },
      note: 'seen elsewhere',
    });
    const [line] = await paywright('audit', '--account', ada.handle, '--action', 'account.frozen');
    expect(line).toContain('operator olga');
    expect(line).toContain('(seen elsewhere)');
    expect(line).not.toContain('\u001b');
    const [json = ''] = await paywright('audit', '--account', ada.email, '--json', '--limit', '1');
    expect(JSON.parse(json)).toMatchObject({ handle: ada.handle, operator: 'olga', note: 'seen elsewhere' });
  });

  test('says when there is nothing, when there is more, and what it does not understand', async () => {
    expect(await paywright('audit', '--since', '2999-01-01')).toEqual(['There are no entries.']);
    await service.client.post('/account/tier', { tier: 'pro' }, (await service.client.register()).key);
    await paywright('account', 'freeze', (await service.client.register()).handle);
    expect((await paywright('audit', '--limit', '1')).at(-1)).toBe('There are more: see --limit.');
    await expect(paywright('audit', '--account', 'PA-00000000')).rejects.toThrow('No account has');
    await expect(paywright('audit', '--since', 'soon')).rejects.toThrow('--since must be a time');
    await expect(paywright('audit', '--action', 'x')).rejects.toThrow('--action must be one of');
    await expect(paywright('audit', '--limit', 'x')).rejects.toThrow('--limit must be');
  });

  test('commands that do something are written down before they begin, without secrets; those that look are not', async () => {
    const words = 'merchant enable shop.example --orders-url https://a:b@shop.example/orders?key=s3cret';
    await recordCommand(db(), 'olga', { name: 'enable', words: words.split(' ') });
    await recordCommand(db(), 'olga', { name: 'list', words: ['merchant', 'list'] });
    const [line, ...more] = await paywright('audit', '--action', 'operator.command');
    expect(line).toContain('merchant enable shop.example');
    expect(line).not.toMatch(/s3cret|a:b@/);
    expect(more).toEqual([]);
  });
});
