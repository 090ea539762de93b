import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeFunctionData, type Hex } from 'viem';
import { beforeEach, describe, expect, test } from 'vitest';
import { tokenAbi } from '../../../../src/chains/abi.ts';
import { reconcile } from '../../../../src/custody/reserves/reconcile.ts';
import { reportReserves } from '../../../../src/custody/reserves/report.ts';
import { usualPatience } from '../../../../src/kernel/db/migration-lock.ts';
import { heldAccount, houseAccount, userAccount } from '../../../../src/ledger/account-id.ts';
import { archiveMonth } from '../../../../src/ledger/archive/archive-month.ts';
import { houseBalance } from '../../../../src/ledger/balances.ts';
import { verifyLedger } from '../../../../src/ledger/verify.ts';
import { amountOf } from '../../../../src/money/amount.ts';
import { type ChainId, chains as facts, homeChain } from '../../../../src/money/catalogue.ts';
import { findBooked, listLost } from '../../../../src/payments/deposits/booked-deposit.ts';
import { checkHeldDeposits } from '../../../../src/payments/deposits/check-held-deposits.ts';
import { listHeld, releaseHeld } from '../../../../src/payments/deposits/held-deposit.ts';
import { oneNodeLimit } from '../../../../src/payments/deposits/one-node-limit.ts';
import { refuseIfShown, reverseBooked } from '../../../../src/payments/deposits/reverse-deposit.ts';
import {
  openReversals,
  restoreBooked,
  type Settling,
  settleReversal,
} from '../../../../src/payments/deposits/settle-reversal.ts';
import type { Outsider } from '../../../support/chains.ts';
import { endLeases, readUp, type User, useDepositWorld } from '../../../support/deposits.ts';
import { transfer } from '../../../support/ledger.ts';
import { forgeTransfer, networkOf, startNode } from '../../../support/lying-node.ts';
import { endMonth } from '../../../support/months.ts';

const confirmations = 3;
const world = useDepositWorld({ pollMs: 10, confirmations });
const { chains, database } = world;
const { db } = database;

let user: User;
let other: User;
let ada: Outsider;

async function read(chain: ChainId = homeChain): Promise<void> {
  await chains.mine(chain, confirmations);
  await endLeases(database);
  const reader = world.reader(chain);
  await readUp(reader);
  await reader.release();
}

const snapshot = () => chains.rpc<Hex>(homeChain, 'evm_snapshot');

async function turnBack(id: Hex): Promise<void> {
  await chains.rpc(homeChain, 'evm_revert', [id]);
  await chains.rpc(homeChain, 'evm_increaseTime', [7]);
}

async function signTransfer(atomic: bigint): Promise<Hex> {
  return ada.wallet().signTransaction({
    account: ada.account,
    chain: chains.network(homeChain).client.chain ?? null,
    to: facts[homeChain].tokens.USDC,
    data: encodeFunctionData({ abi: tokenAbi, functionName: 'transfer', args: [user.address, atomic] }),
    nonce: 0,
    gas: 200_000n,
    maxFeePerGas: 10n ** 11n,
    maxPriorityFeePerGas: 10n ** 9n,
    type: 'eip1559',
  });
}

const send = (raw: Hex) => chains.rpc<Hex>(homeChain, 'eth_sendRawTransaction', [raw]);

/** A deposit that was credited, and that a reorganisation deeper than the confirmations took away. */
async function loseDeposit(atomic: bigint): Promise<{ readonly id: string; readonly raw: Hex }> {
  const raw = await signTransfer(atomic);
  const before = await snapshot();
  await send(raw);
  await read();
  await turnBack(before);
  await chains.mine(homeChain, confirmations * 2);
  await read();
  return { id: await onlyDeposit(), raw };
}

async function onlyDeposit({ id }: User = user): Promise<string> {
  const { rows } = await db.query<{ id: string }>('SELECT id FROM deposits WHERE account_id = $1', [id]);
  expect(rows).toHaveLength(1);
  return rows[0]?.id ?? '';
}

async function pay(from: User, to: User, atomic: bigint): Promise<void> {
  const posting = transfer(from.id, to.id, atomic, { fee: amountOf('USDC', 0n) });
  expect((await world.ledger.post(posting)).outcome).toBe('posted');
}

async function isAsserted(id: string) {
  const booked = await findBooked(db, id);
  if (booked === undefined) throw new Error(`there is no deposit ${id}`);
  return { ...booked, ...booked.amount };
}

const reverse = (id: string) => reverseBooked({ db, ledger: world.ledger }, id);
const owedOn = async (chain: ChainId) => -(await houseBalance(db, 'reversals_in_transit', 'USDC', chain)).atomic;

async function differences(chain: ChainId = homeChain): Promise<string[]> {
  const networks = new Map([[chain, chains.network(chain)]]);
  const { reserves } = await reportReserves({ db, networks, logger: world.log.logger, chainTimeoutMs: 30_000 });
  return reserves.flatMap(({ difference }) => (difference === '0' ? [] : [String(difference)]));
}

async function fits(chain: ChainId = homeChain): Promise<void> {
  expect(await differences(chain)).toEqual([]);
  expect((await verifyLedger(db)).problems).toEqual([]);
  const networks = new Map([[chain, chains.network(chain)]]);
  const findings = await reconcile({ db, networks, sagas: [] });
  expect(findings.filter((line) => line.startsWith(chain) || line.includes('taken back'))).toEqual([]);
}

beforeEach(async () => {
  [user, other] = (await world.newUsers(2)) as [User, User];
  ada = await chains.outsider({ tokens: [{ asset: 'USDC', atomic: 1_000n }] });
  await read();
  world.log.clear();
});

describe('a deposit that the chain has lost', () => {
  test('is listed, and taken back from whoever still has it', async () => {
    const { id } = await loseDeposit(500n);
    expect(await differences()).toEqual(['-0.0005']);
    expect((await listLost(db)).map((lost) => lost.id)).toContain(id);
    await refuseIfShown(chains.network(homeChain), await isAsserted(id));
    const before = await owedOn(homeChain);
    expect(await reverse(id)).toEqual({ taken: amountOf('USDC', 500n), owed: amountOf('USDC', 0n) });
    expect(await world.balance(user)).toBe(0n);
    expect(await owedOn(homeChain)).toBe(before);
    await fits();
  });

  test('is owed as far as it was spent, by its owner and nobody else', async () => {
    const { id } = await loseDeposit(500n);
    await pay(user, other, 300n);
    const before = await owedOn(homeChain);
    expect(await reverse(id)).toEqual({ taken: amountOf('USDC', 200n), owed: amountOf('USDC', 300n) });
    expect([await world.balance(user), await world.balance(other)]).toEqual([0n, 300n]);
    expect(await owedOn(homeChain)).toBe(before + 300n);
    const lost = (await listLost(db)).find((one) => one.id === id);
    expect(lost).toMatchObject({ accountId: user.id, owed: amountOf('USDC', 300n) });
    await fits();
  });

  test('is taken back once, however many try', async () => {
    const { id } = await loseDeposit(500n);
    await chains.mint(homeChain, 'USDC', user.address, 600n);
    await read();
    const tries = await Promise.allSettled([reverse(id), reverse(id), reverse(id)]);
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await world.balance(user)).toBe(600n);
    await expect(reverse(id)).rejects.toThrow('already reversed');
    await expect(
      db.query("INSERT INTO deposit_reversals (deposit_id, asset, taken, owed) VALUES ($1, 'USDC', 1, 0)", [id]),
    ).rejects.toThrow('deposit_reversals_pkey');
    await fits();
  });

  test('is taken back from a frozen account, which stays frozen', async () => {
    const { id } = await loseDeposit(500n);
    await db.query("UPDATE accounts SET frozen_at = '2026-01-02T03:04:05Z' WHERE id = $1", [user.id]);
    expect((await reverse(id)).taken).toEqual(amountOf('USDC', 500n));
    const { rows } = await db.query('SELECT frozen_at FROM accounts WHERE id = $1', [user.id]);
    expect(rows).toEqual([{ frozenAt: new Date('2026-01-02T03:04:05Z') }]);
    await fits();
  });

  test('that comes back afterwards is not credited again by itself: a person is told, and decides', async () => {
    const { id, raw } = await loseDeposit(500n);
    await pay(user, other, 300n);
    const before = await owedOn(homeChain);
    await reverse(id);
    await send(raw);
    await read();
    expect(await world.balance(user)).toBe(0n);
    expect(world.log.lines('error')).toContainEqual(
      expect.objectContaining({ deposit: id, msg: 'a reversed deposit is on the chain' }),
    );
    await fits();
    const restore = () => restoreBooked({ db, ledger: world.ledger }, id);
    const tries = await Promise.allSettled([restore(), restore()]);
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect([await world.balance(user), await owedOn(homeChain)]).toEqual([200n, before]);
    expect((await findBooked(db, id))?.reversedAt).toBeNull();
    await expect(reverse(id)).rejects.toThrow('cannot be reversed again');
    await fits();
  });

  test('that comes back before is not lost any more', async () => {
    const { id, raw } = await loseDeposit(500n);
    await send(raw);
    await read();
    expect((await listLost(db)).map((lost) => lost.id)).not.toContain(id);
    await expect(refuseIfShown(chains.network(homeChain), await isAsserted(id))).rejects.toThrow('is on the chain');
    await fits();
  });
});

describe('what is owed for a deposit that was taken back', () => {
  const settle = (id: string, settling: Settling) => settleReversal({ db, ledger: world.ledger }, id, settling);
  const equity = async () => (await houseBalance(db, 'equity', 'USDC', homeChain)).atomic;

  /** 300 of 500 were spent before it was taken back. */
  async function beginDebt(): Promise<{ readonly id: string; readonly raw: Hex; readonly before: bigint }> {
    const lost = await loseDeposit(500n);
    await pay(user, other, 300n);
    const before = await owedOn(homeChain);
    await reverse(lost.id);
    return { ...lost, before };
  }

  test('is collected as far as its owner has something, and the rest is written off', async () => {
    const { id, before } = await beginDebt();
    await expect(settle(id, { kind: 'collected' })).rejects.toThrow('has only 0 USDC on MATIC');
    await pay(other, user, 120n);
    await db.query("UPDATE accounts SET frozen_at = '2026-01-02T03:04:05Z' WHERE id = $1", [user.id]);
    await expect(settle(id, { kind: 'collected', atomic: 121n })).rejects.toThrow('has only 0.00012 USDC');
    expect(await settle(id, { kind: 'collected' })).toEqual({
      settled: amountOf('USDC', 120n),
      stillOwed: amountOf('USDC', 180n),
    });
    const { rows } = await db.query('SELECT frozen_at FROM accounts WHERE id = $1', [user.id]);
    expect(rows).toEqual([{ frozenAt: new Date('2026-01-02T03:04:05Z') }]);
    expect([await world.balance(user), await owedOn(homeChain)]).toEqual([0n, before + 180n]);
    await fits();
    const own = await equity();
    await expect(settle(id, { kind: 'written_off', atomic: 181n })).rejects.toThrow('Only 0.00018 USDC is owed');
    await settle(id, { kind: 'written_off', atomic: 80n });
    expect((await settle(id, { kind: 'written_off' })).stillOwed).toEqual(amountOf('USDC', 0n));
    expect([await equity(), await owedOn(homeChain)]).toEqual([own - 180n, before]);
    for (const kind of ['collected', 'written_off'] as const) {
      await expect(settle(id, { kind })).rejects.toThrow('Nothing is owed for');
    }
    await fits();
  });

  test('is settled once, however many try', async () => {
    const { id } = await beginDebt();
    await pay(other, user, 300n);
    const tries = await Promise.allSettled(Array.from({ length: 3 }, () => settle(id, { kind: 'collected' })));
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await world.balance(user)).toBe(0n);
    await expect(
      db.query('UPDATE deposit_reversals SET settled = settled + 1 WHERE deposit_id = $1', [id]),
    ).rejects.toThrow('deposit_reversals_settled_check');
    await fits();
  });

  test('is given back when the deposit is on the chain after all', async () => {
    const { id, raw, before } = await beginDebt();
    const own = await equity();
    await pay(other, user, 100n);
    await settle(id, { kind: 'collected' });
    await settle(id, { kind: 'written_off' });
    await send(raw);
    await read();
    await restoreBooked({ db, ledger: world.ledger }, id);
    // The 200 that were taken back, and the 100 that were collected.
    expect(await world.balance(user)).toBe(300n);
    expect([await equity(), await owedOn(homeChain)]).toEqual([own, before]);
    await fits();
  });

  test('is nothing for a deposit that was never taken back', async () => {
    await chains.mint(homeChain, 'USDC', user.address, 500n);
    await read();
    const id = await onlyDeposit();
    await expect(settle(id, { kind: 'written_off' })).rejects.toThrow('was not reversed');
    await expect(settle('dep_none', { kind: 'collected' })).rejects.toThrow('There is no deposit');
    expect(await world.balance(user)).toBe(500n);
  });
});

describe('what cannot be taken back now is refused, and says why', () => {
  test.each([
    ['a sweep has it', "UPDATE deposits SET sweep_id = 'swe_1' WHERE id = $1", /being swept by swe_1/],
    ['nobody knows it', 'SELECT $1', /There is no deposit/],
  ])('%s', async (what, change, reason) => {
    await chains.mint(homeChain, 'USDC', user.address, 500n);
    await read();
    const id = await onlyDeposit();
    await db.query(change, [id]);
    await expect(reverse(what === 'nobody knows it' ? 'dep_none' : id)).rejects.toThrow(reason);
    expect(await world.balance(user)).toBe(500n);
    await db.query('UPDATE deposits SET sweep_id = NULL WHERE id = $1', [id]);
  });

  test('its chain does not answer, or shows it', async () => {
    await chains.mint(homeChain, 'USDC', user.address, 500n);
    await read();
    const asserted = await isAsserted(await onlyDeposit());
    await expect(refuseIfShown(undefined, asserted)).rejects.toThrow('The chain is not configured');
    const [one, two] = [await startNode(chains, homeChain, 2), await startNode(chains, homeChain, 3)];
    const network = networkOf(chains, homeChain, [one.url, two.url]);
    await expect(refuseIfShown(network, asserted)).rejects.toThrow(
      'on the chain, according to 127.0.0.2 and 127.0.0.3',
    );
    two.misbehave(() => 'down');
    await refuseIfShown(network, asserted);
    one.misbehave(() => 'down');
    await expect(refuseIfShown(network, asserted)).rejects.toThrow('No node answers');
  });
});

test('a million that was invented and released by mistake is taken back, from whoever has it and as a debt', async () => {
  const liar = await startNode(chains, homeChain, 2);
  const network = networkOf(chains, homeChain, [liar.url]);
  const million = 1_000_000_000_000n;
  await forgeTransfer(chains, homeChain, liar, { to: user.address, atomic: million });
  await chains.mine(homeChain, confirmations);
  await endLeases(database);
  const reader = world.reader(homeChain, { network, oneNodeLimit: oneNodeLimit(1_000) });
  await readUp(reader);
  await reader.release();
  const [held] = (await listHeld(db)).filter(({ arrival }) => arrival.accountId === user.id);
  await fits();
  await releaseHeld(db, held?.id ?? '');
  await checkHeldDeposits({ db, ledger: world.ledger, logger: world.log.logger }, network);
  expect(await world.balance(user)).toBe(million);
  // The honest node says what is missing.
  expect(await differences()).toEqual(['-1000000']);
  await pay(user, other, million / 4n);
  expect(await reverse(await onlyDeposit())).toEqual({
    taken: amountOf('USDC', (million / 4n) * 3n),
    owed: amountOf('USDC', million / 4n),
  });
  await fits();
});

describe('a deposit on another chain, of somebody who keeps nothing there', () => {
  const chain = 'BASE';

  async function depositThere(): Promise<string> {
    await read(chain);
    await chains.mint(chain, 'USDC', user.address, 500n);
    await read(chain);
    return onlyDeposit();
  }

  test('is taken back from what waits to be carried home, and is not carried any more', async () => {
    const id = await depositThere();
    await reverse(id);
    const { rows } = await db.query<{ balance: bigint }>('SELECT balance FROM ledger.accounts WHERE id = $1', [
      heldAccount(user.id, 'USDC', chain),
    ]);
    expect(rows).toEqual([{ balance: 0n }]);
    const due = await db.query(
      'SELECT FROM deposits WHERE id = $1 AND home_bound AND bridge_id IS NULL AND kept_at IS NULL',
      [id],
    );
    expect(due.rows).toEqual([]);
    // It is on the chain all the same, and counted as nobody's.
    await fits(chain);
    await restoreBooked({ db, ledger: world.ledger }, id);
    expect(await findBooked(db, id)).toMatchObject({ isHomeBound: true, isKept: false, reversedAt: null });
    await fits(chain);
  });

  test('and was carried home is taken back there, and missing here', async () => {
    const id = await depositThere();
    await carryHome(id);
    const [here, there] = [await owedOn(chain), await owedOn(homeChain)];
    await pay(user, other, 100n);
    expect(await reverse(id)).toEqual({ taken: amountOf('USDC', 400n), owed: amountOf('USDC', 100n) });
    expect(await world.balance(user)).toBe(0n);
    expect([await owedOn(chain), await owedOn(homeChain)]).toEqual([here + 500n, there - 400n]);
    expect((await verifyLedger(db)).problems).toEqual([]);
    const findings = await reconcile({ db, networks: new Map(), sagas: [] });
    expect(findings.filter((line) => line.includes('taken back'))).toEqual([]);
  });

  /** The end of a bridge as far as a deposit knows of it. */
  async function carryHome(depositId: string): Promise<void> {
    const amount = amountOf('USDC', 500n);
    const posted = await world.ledger.post({
      type: 'deposit_carried_home',
      amount,
      entries: [
        { account: heldAccount(user.id, 'USDC', chain), atomic: -500n },
        { account: houseAccount('custody', 'USDC', chain), atomic: 500n },
        { account: houseAccount('custody', 'USDC', homeChain), atomic: -500n },
        { account: userAccount(user.id, 'USDC', homeChain), atomic: 500n },
      ],
    });
    expect(posted.outcome).toBe('posted');
    await db.query('ALTER TABLE deposits DROP CONSTRAINT IF EXISTS deposits_bridge_id_fkey');
    await db.query("UPDATE deposits SET bridge_id = 'brg_1' WHERE id = $1", [depositId]);
  }
});

describe('a deposit that was taken back in a month that was archived', () => {
  test('keeps the month in the ledger while it is owed, and is not restored by half afterwards', async () => {
    const { id } = await loseDeposit(500n);
    await pay(user, other, 300n);
    await reverse(id);
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
    expect((await openReversals(db, tomorrow)).join()).toContain(`The reversal of ${id} is open`);
    await settleReversal({ db, ledger: world.ledger }, id, { kind: 'written_off' });
    expect((await openReversals(db, tomorrow)).join()).not.toContain(id);
    const before = await differences();
    await endMonth(db, 'second');
    await endMonth(db, 'third');
    const folder = await mkdtemp(join(tmpdir(), 'reversals-'));
    const options = { url: database.url, db, needs: async () => [], patience: usualPatience, restMs: 0 };
    await archiveMonth(options, { name: 'first', file: join(folder, 'first') });
    await rm(folder, { recursive: true });
    const restored = restoreBooked({ db, ledger: world.ledger }, id);
    await expect(restored).rejects.toThrow(/does not have .* and .* any more: the month was archived/);
    expect((await verifyLedger(db)).problems).toEqual([]);
    expect(await differences(), 'reserves read balances, which the archive leaves alone').toEqual(before);
  });
});
