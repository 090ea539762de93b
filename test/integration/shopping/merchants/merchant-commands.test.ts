import { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLogger } from '../../../../src/kernel/log/logger.ts';
import { createSecrets } from '../../../../src/kernel/secrets/secrets.ts';
import { userAccount } from '../../../../src/ledger/account-id.ts';
import { spendableBalances } from '../../../../src/ledger/balances.ts';
import { openClaimant } from '../../../../src/ledger/claimants.ts';
import { createLedger } from '../../../../src/ledger/ledger.ts';
import { verifyLedger } from '../../../../src/ledger/verify.ts';
import { amountOf } from '../../../../src/money/amount.ts';
import { addMerchantCommands } from '../../../../src/shopping/merchants/commands.ts';
import {
  findMerchant,
  findOwnMerchant,
  merchantsOf,
  unsealOrdersSecret,
} from '../../../../src/shopping/merchants/find-merchant.ts';
import { checkDomain, proveDomain } from '../../../../src/shopping/merchants/prove-domain.ts';
import { registerDomain, releaseDomain } from '../../../../src/shopping/merchants/register-domain.ts';
import { useDatabase } from '../../../support/database.ts';
import { createOwners, fund } from '../../../support/ledger.ts';

const { db } = useDatabase();
const ledger = createLedger({ db, logger: createLogger('silent') });
const secrets = createSecrets('the secret of an operator');
afterAll(() => ledger.stop());

interface Owner {
  readonly id: bigint;
  readonly handle: string;
}
let owners: Owner[] = [];
beforeAll(async () => {
  await fund(ledger, await createOwners(db, 4), 1_000n);
  owners = (await db.query<Owner>('SELECT id, handle FROM accounts ORDER BY id')).rows;
});
const owner = (index: number): Owner => owners[index] as Owner;

/** Runs a command as the operator would. */
async function paywright(...args: string[]): Promise<string> {
  const lines: string[] = [];
  const program = new Command('paywright').exitOverride();
  addMerchantCommands(program, {
    withDatabase: (work) => work(db),
    withMoney: (work) => work({ db, ledger, secrets }),
    say: (line) => void lines.push(line),
  });
  await program.parseAsync(['node', 'paywright', 'merchant', ...args]);
  return lines.join('\n');
}

async function owe(domain: string, atomic: bigint): Promise<void> {
  const { account } = await openClaimant(db, { kind: 'domain', name: domain, asset: 'USDC', chain: 'MATIC' });
  const outcome = await ledger.post({
    type: 'order',
    amount: amountOf('USDC', atomic),
    entries: [
      { account: userAccount(owner(0).id, 'USDC'), atomic: -atomic },
      { account, atomic },
    ],
  });
  expect(outcome.outcome).toBe('posted');
}

/** As if the domain had shown the account's file. */
async function prove({ id, handle }: Owner, domain: string): Promise<void> {
  await db.transaction((tx) => registerDomain(tx, secrets, { accountId: id, domain, ordersUrl: undefined }));
  const website = { origin: `https://${domain}`, name: domain };
  const caller = { accountId: id, handle };
  const proved = await checkDomain({ db, lookForProof: async () => undefined }, caller, website);
  await db.transaction((tx) => proveDomain(tx, ledger, { accountId: id, ...proved }));
}

const balance = async ({ id }: Owner) => (await spendableBalances(db, id)).USDC.atomic;

describe('the operator', () => {
  test('enables a domain, in any usual spelling, and is told who is in the registry', async () => {
    expect(await paywright('list')).toBe('No domain is registered.');
    expect(await paywright('show', 'shop.com')).toContain('not registered: its site decides');
    expect(await paywright('enable', 'https://WWW.Shop.com/x')).toBe('shop.com takes orders now.');
    expect(await findMerchant(db, 'shop.com')).toEqual({
      domain: 'shop.com',
      accountId: null,
      state: 'enabled',
      ordersUrl: null,
    });
    expect(await paywright('list')).toBe('enabled   -            shop.com');
    await owe('shop.com', 12n);
    const shown = await paywright('show', 'shop.com');
    expect(shown).toMatch(/state +enabled by the operator/);
    expect(shown).toMatch(/owed +0\.000012 USDC on MATIC/);
  });

  test('gives a domain to an account, with all that it is owed', async () => {
    const merchant = owner(1);
    const before = await balance(merchant);
    const said = await paywright('enable', 'shop.com', '--account', merchant.handle.toLowerCase());
    expect(said).toContain('Paid out 0.000012 USDC that the domain was owed.');
    expect(await balance(merchant)).toBe(before + 12n);
    expect(await merchantsOf(db, merchant.id)).toEqual(['shop.com']);
    expect(await findOwnMerchant(db, merchant.id, 'shop.com')).toMatchObject({ status: 'enabled', token: null });
    expect(await paywright('list')).toBe(`enabled   ${merchant.handle.padEnd(13)}shop.com`);
    // Enabling it once more takes it from nobody.
    await paywright('enable', 'shop.com');
    expect(await merchantsOf(db, merchant.id)).toEqual(['shop.com']);
  });

  test('names where orders go, and is told the secret once', async () => {
    const said = await paywright('enable', 'hooked.com', '--orders-url', 'https://hooked.com/orders');
    const [secret] = /whsec_\S+/.exec(said) ?? [];
    expect(await unsealOrdersSecret(db, secrets, 'hooked.com')).toBe(secret);
    expect((await findMerchant(db, 'hooked.com'))?.ordersUrl).toBe('https://hooked.com/orders');
    expect(await paywright('enable', 'hooked.com', '--orders-url', 'https://hooked.com/new')).not.toContain('whsec_');
    expect(await unsealOrdersSecret(db, secrets, 'hooked.com')).toBe(secret);
    expect(await unsealOrdersSecret(db, secrets, 'nobody.com')).toBeUndefined();
  });

  test('closes a domain, and no proof opens it again, though what it is owed is paid out', async () => {
    const merchant = owner(2);
    expect(await paywright('disable', 'Closed.com')).toBe('closed.com takes no more orders.');
    await owe('closed.com', 5n);
    const before = await balance(merchant);
    await prove(merchant, 'closed.com');
    expect(await findMerchant(db, 'closed.com')).toMatchObject({ state: 'disabled', accountId: merchant.id });
    expect(await balance(merchant)).toBe(before + 5n);
    expect(await findOwnMerchant(db, merchant.id, 'closed.com')).toMatchObject({ status: 'disabled' });
    expect(await paywright('show', 'closed.com')).toMatch(/state +disabled by the operator/);
    // Nor does giving it up and proving it anew.
    await db.transaction((tx) => releaseDomain(tx, ledger, { accountId: merchant.id, domain: 'closed.com' }));
    await prove(merchant, 'closed.com');
    expect((await findMerchant(db, 'closed.com'))?.state).toBe('disabled');
    expect(await paywright('enable', 'closed.com')).toBe('closed.com takes orders now.');
    expect(await findMerchant(db, 'closed.com')).toMatchObject({ state: 'enabled', accountId: merchant.id });
  });

  test('moves a domain from one account to another: what was owed before is the first one’s', async () => {
    const [first, second] = [owner(2), owner(3)];
    await prove(first, 'moved.com');
    await paywright('enable', 'moved.com', '--orders-url', 'https://moved.com/orders');
    await owe('moved.com', 7n);
    const [firstHad, secondHad] = [await balance(first), await balance(second)];
    await paywright('enable', 'moved.com', '--account', second.handle);
    expect([await balance(first), await balance(second)]).toEqual([firstHad + 7n, secondHad]);
    expect(await findMerchant(db, 'moved.com')).toMatchObject({ accountId: second.id, ordersUrl: null });
    expect(await unsealOrdersSecret(db, secrets, 'moved.com')).toBeUndefined();
    await expect(prove(first, 'moved.com')).rejects.toMatchObject({ code: 'domain_taken' });
  });

  test('is asked whose it is when it enables what was given up', async () => {
    const [first, second] = [owner(2), owner(3)];
    await prove(first, 'given-up.com');
    await db.transaction((tx) => releaseDomain(tx, ledger, { accountId: first.id, domain: 'given-up.com' }));
    expect(await paywright('show', 'given-up.com')).toMatch(/state +disabled by its owner, who gave it up/);
    await expect(paywright('enable', 'given-up.com')).rejects.toThrow('Name the new owner with --account.');
    expect((await findMerchant(db, 'given-up.com'))?.state).toBe('disabled');
    await paywright('enable', 'given-up.com', '--account', second.handle);
    expect(await findMerchant(db, 'given-up.com')).toMatchObject({ state: 'enabled', accountId: second.id });
  });

  test('is refused what cannot be, and nothing is written', async () => {
    const before = await paywright('list');
    await expect(paywright('enable', 'new.com', '--account', 'PA-NOBODY00')).rejects.toThrow(
      'No account has the handle',
    );
    await expect(paywright('enable', 'new.com', '--orders-url', 'ftp://x')).rejects.toThrow('--orders-url must begin');
    await expect(paywright('enable', 'ftp://new.com')).rejects.toThrow('must be a domain');
    await expect(paywright('disable', '10.0.0.1')).rejects.toThrow('must be a domain, not an IP address');
    await expect(paywright('show', 'a b')).rejects.toThrow('must be a public domain');
    expect(await paywright('list')).toBe(before);
    expect((await verifyLedger(db)).problems).toEqual([]);
  });
});

test('the list names every domain once, however many there are', async () => {
  await db.query(
    `INSERT INTO merchants (domain, state, enabled_by)
     SELECT 'many-' || i || '.com', 'enabled', 'operator' FROM generate_series(1, 1200) i`,
  );
  const { rows } = await db.query<{ domain: string }>('SELECT domain FROM merchants ORDER BY domain');
  const lines = (await paywright('list')).split('\n');
  expect(lines.map((line) => line.slice(23))).toEqual(rows.map(({ domain }) => domain));
});

test('whatever the code does, the database keeps one owner for each domain, and no open gate without a reason', async () => {
  const insert = (fields: string, values: string) => db.query(`INSERT INTO merchants (${fields}) VALUES (${values})`);
  await expect(insert('domain, state', "'x.com', 'enabled'")).rejects.toMatchObject({ code: '23514' });
  await expect(insert('domain, state', "'x.com', 'disabled'")).rejects.toMatchObject({ code: '23514' });
  await expect(insert('domain, state, enabled_by', "'X.com', 'enabled', 'operator'")).rejects.toMatchObject({
    code: '23514',
  });
  await expect(insert('domain, state, enabled_by', "'shop.com', 'enabled', 'operator'")).rejects.toMatchObject({
    code: '23505',
  });
  await expect(
    insert('domain, account_id, state, disabled_by', `'x.com', ${owner(0).id}, 'disabled', 'owner'`),
  ).rejects.toMatchObject({ code: '23514' });
});
