import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { dueAccount, houseAccount, userAccount } from '../../../src/ledger/account-id.ts';
import { balancesOf, spendableBalances } from '../../../src/ledger/balances.ts';
import {
  type Claimant,
  type Due,
  findClaimant,
  listDues,
  openClaimant,
  type Redeemed,
  redeemClaimant,
  walkDues,
} from '../../../src/ledger/claimants.ts';
import { createLedger } from '../../../src/ledger/ledger.ts';
import type { Posting } from '../../../src/ledger/posting.ts';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import { amountOf } from '../../../src/money/amount.ts';
import type { Asset } from '../../../src/money/catalogue.ts';
import { useDatabase } from '../../support/database.ts';
import { createOwners, fund } from '../../support/ledger.ts';

const { db } = useDatabase();
const ledger = createLedger({ db, logger: createLogger('silent') });
afterAll(() => ledger.stop());

let payer = 0n;
beforeAll(async () => {
  const owners = await createOwners(db, 1);
  await fund(ledger, owners, 1_000_000n);
  payer = owners[0]?.id ?? 0n;
});

const shop = (name = `${randomUUID()}.example`) => ({ kind: 'domain', name, asset: 'USDC', chain: 'MATIC' }) as const;

/** Somebody pays a party that has no account. */
async function pay(name: string, atomic: bigint, from = payer): Promise<Claimant> {
  const { claimant, account } = await openClaimant(db, shop(name));
  const outcome = await ledger.post({
    type: 'order',
    amount: amountOf('USDC', atomic),
    senderId: from,
    recipientId: claimant.id,
    entries: [
      { account: userAccount(from, 'USDC'), atomic: -atomic },
      { account, atomic },
    ],
  });
  expect(outcome.outcome).toBe('posted');
  return claimant;
}

const dueTo = async ({ id }: Claimant) => (await listDues(db, id)).map(({ amount }) => amount);
const redeem = (claimant: Claimant, accountId: bigint) =>
  db.transaction((tx) => redeemClaimant(tx, ledger, { claimant, accountId }));
const newAccount = async () => (await createOwners(db, 1))[0]?.id ?? 0n;

describe('a party without an account', () => {
  it('is one, however many open it at once', async () => {
    const given = shop();
    const opened = await Promise.all(Array.from({ length: 12 }, () => openClaimant(db, given)));
    expect(new Set(opened.map(({ claimant }) => claimant.id)).size).toBe(1);
    expect(new Set(opened.map(({ account }) => account)).size).toBe(1);
    const [first] = opened;
    expect(await findClaimant(db, given)).toEqual(first?.claimant);
    expect(first?.claimant).toMatchObject({ kind: 'domain', name: given.name, accountId: null });
    expect(first?.claimant.id).toBeGreaterThanOrEqual(2n ** 38n);
  });

  it('is known by kind and name as they are spelled: making one spelling of them is up to the caller', async () => {
    expect(await findClaimant(db, shop())).toBeUndefined();
    const { name } = shop();
    const spelled = await Promise.all([
      openClaimant(db, shop(name)),
      openClaimant(db, shop(name.toUpperCase())),
      openClaimant(db, { ...shop(name), kind: 'address' }),
      openClaimant(db, shop(`bücher.${name}`)),
      openClaimant(db, shop(`xn--bcher-kva.${name}`)),
    ]);
    expect(new Set(spelled.map(({ claimant }) => claimant.id)).size).toBe(5);
    await expect(openClaimant(db, shop(''))).rejects.toMatchObject({ code: '23514' });
    await expect(openClaimant(db, { ...shop(), kind: 'Not A Kind' })).rejects.toMatchObject({ code: '23514' });
  });

  it('is owed what was paid to it, and an operator sees it', async () => {
    const { name } = shop();
    const claimant = await pay(name, 700n);
    await pay(name, 50n);
    expect(await dueTo(claimant)).toEqual([amountOf('USDC', 750n)]);
    const listed: Due[] = [];
    for await (const due of walkDues(db)) if (due.claimant.name === name) listed.push(due);
    expect(listed).toMatchObject([{ claimant, chain: 'MATIC', amount: amountOf('USDC', 750n) }]);
    expect(listed[0]?.changedAt).toBeInstanceOf(Date);
  });

  it('is among all who are owed something, however many of them are read at once', async () => {
    for (let number = 0; number < 3; number++) await pay(shop().name, 10n);
    const walk = async (options: Parameters<typeof walkDues>[1]) => {
      const names: string[] = [];
      for await (const { claimant } of walkDues(db, options)) names.push(claimant.name);
      return names;
    };
    const whole = await walk({ atOnce: 1_000 });
    expect(whole.length).toBeGreaterThanOrEqual(3);
    for (const atOnce of [1, 2]) expect(await walk({ atOnce })).toEqual(whole);
    expect(await walk({ kind: 'nobody', atOnce: 1 })).toEqual([]);
  });

  it('cannot be owed less than nothing: not by the ledger, not by the database', async () => {
    const claimant = await pay(shop().name, 5n);
    const account = dueAccount(claimant.id, 'USDC');
    const taken = await ledger.post({
      type: 'refund',
      amount: amountOf('USDC', 6n),
      entries: [
        { account, atomic: -6n },
        { account: userAccount(payer, 'USDC'), atomic: 6n },
      ],
    });
    expect(taken).toEqual({ outcome: 'insufficient_balance' });
    const overdraw = db.query('UPDATE ledger.accounts SET balance = -1 WHERE id = $1', [account]);
    await expect(overdraw).rejects.toMatchObject({ constraint: 'accounts_balance_not_negative' });
  });

  it('that nobody opened can be owed nothing', async () => {
    const to = (account: ReturnType<typeof dueAccount>): Posting => ({
      type: 'order',
      amount: amountOf('USDC', 1n),
      entries: [
        { account: userAccount(payer, 'USDC'), atomic: -1n },
        { account, atomic: 1n },
      ],
    });
    const nobody = 2n ** 38n + 777_777n;
    expect(await ledger.post(to(dueAccount(nobody, 'USDC')))).toEqual({ outcome: 'unknown_account' });
    const { claimant } = await openClaimant(db, shop());
    expect(await ledger.post(to(userAccount(claimant.id, 'USDC')))).toEqual({ outcome: 'unknown_account' });
    expect(await ledger.post(to(dueAccount(claimant.id, 'USDC')))).toMatchObject({ outcome: 'posted' });
  });
});

describe('an account that proves to be that party', () => {
  it('gets all of it, in one posting for each chain and asset, and the party is its own from then on', async () => {
    const { name } = shop();
    const claimant = await pay(name, 700n);
    await credit(name, 'EURC', 30n);
    const accountId = await newAccount();
    const redeemed = await redeem(claimant, accountId);
    expect(amountsOf(redeemed)).toEqual([amountOf('USDC', 700n), amountOf('EURC', 30n)]);
    expect(await spendableBalances(db, accountId)).toMatchObject({ USDC: { atomic: 700n }, EURC: { atomic: 30n } });
    expect(await dueTo(claimant)).toEqual([]);
    expect((await openClaimant(db, shop(name))).claimant).toEqual({ ...claimant, accountId });
  });

  it('gets it once, whoever asks at the same time and however often', async () => {
    const { name } = shop();
    const claimant = await pay(name, 900n);
    const [ada, eve] = [await newAccount(), await newAccount()];
    const asked = await Promise.all(Array.from({ length: 8 }, (_, turn) => redeem(claimant, turn % 2 ? ada : eve)));
    expect(asked.flatMap(amountsOf)).toEqual([amountOf('USDC', 900n)]);
    expect(asked.filter(({ outcome }) => outcome === 'redeemed_by_another')).toHaveLength(4);
    const winner = (await findClaimant(db, shop(name)))?.accountId;
    const held = await Promise.all(
      [ada, eve].map(async (id) => (await balancesOf(db, id)).map((one) => one.balance.atomic)),
    );
    expect(held).toEqual(winner === ada ? [[900n], []] : [[], [900n]]);
    // What was paid to the old name meanwhile is the same account's, and still nobody else's.
    await pay(name, 11n);
    expect(await redeem(claimant, winner === ada ? eve : ada)).toEqual({ outcome: 'redeemed_by_another' });
    expect(amountsOf(await redeem(claimant, winner ?? 0n))).toEqual([amountOf('USDC', 11n)]);
  });

  it('loses nothing to payments that arrive while it redeems', async () => {
    const { name } = shop();
    const claimant = await pay(name, 1n);
    const accountId = await newAccount();
    const payments = Array.from({ length: 30 }, () => pay(name, 7n));
    const redemptions = Array.from({ length: 10 }, () => redeem(claimant, accountId));
    await Promise.all([...payments, ...redemptions]);
    await redeem(claimant, accountId);
    expect((await spendableBalances(db, accountId)).USDC.atomic).toBe(211n);
    expect(await dueTo(claimant)).toEqual([]);
  });

  it('must be an account, and stays the one it was', async () => {
    const { name } = shop();
    const claimant = await pay(name, 5n);
    await expect(redeem(claimant, 999_999_999n)).rejects.toMatchObject({ code: '23503' });
    expect(await dueTo(claimant)).toEqual([amountOf('USDC', 5n)]);
    await redeem(claimant, await newAccount());
    const stolen = db.query('UPDATE claimants SET account_id = $2 WHERE id = $1', [claimant.id, payer]);
    await expect(stolen).rejects.toMatchObject({ code: '23514' });
    const renamed = db.query("UPDATE claimants SET name = 'other' WHERE id = $1", [claimant.id]);
    await expect(renamed).rejects.toMatchObject({ code: '23514' });
  });
});

it('leaves a sound ledger', async () => {
  expect((await verifyLedger(db)).problems).toEqual([]);
});

function amountsOf(redeemed: Redeemed) {
  return redeemed.outcome === 'redeemed' ? redeemed.postings.map(({ amount }) => amount) : [];
}

/** Something in another asset that comes from outside. */
async function credit(name: string, asset: Asset, atomic: bigint): Promise<void> {
  const { account } = await openClaimant(db, { ...shop(name), asset });
  await ledger.post({
    type: 'order',
    amount: amountOf(asset, atomic),
    entries: [
      { account: houseAccount('custody', asset), atomic: -atomic },
      { account, atomic },
    ],
  });
}
