import { concat, type Hex, pad, parseEventLogs, toHex, zeroAddress } from 'viem';
import { describe, expect, test } from 'vitest';
import { tokenAbi } from '../../../../src/chains/abi.ts';
import { tokenOf } from '../../../../src/chains/network.ts';
import { wrappedCoin } from '../../../../src/chains/wrapped-coin.ts';
import { houseWallet } from '../../../../src/custody/wallets/house-wallets.ts';
import { createSilentChains } from '../../../../src/custody/watch/silent-chains.ts';
import { Ended } from '../../../../src/kernel/sagas/checkpoint.ts';
import { houseAccount } from '../../../../src/ledger/account-id.ts';
import { claimsOf } from '../../../../src/ledger/balances.ts';
import { verifyLedger } from '../../../../src/ledger/verify.ts';
import { amountOf } from '../../../../src/money/amount.ts';
import { readingCheckpoints } from '../../../../src/payments/deposits/read-chain.ts';
import { startWatchers } from '../../../../src/payments/deposits/watch-chains.ts';
import {
  endAt,
  endLeases,
  liarCode,
  payAtOnce,
  readUp,
  type User,
  useDepositWorld,
} from '../../../support/deposits.ts';

const confirmations = 3;
const world = useDepositWorld({ confirmations });
const { chains } = world;
const { db } = world.database;

/** Makes what was sent final, and reads it. */
async function settle(chain: 'MATIC' | 'ARB' = 'MATIC'): Promise<void> {
  await chains.mine(chain, confirmations);
  const reader = world.reader(chain);
  await readUp(reader);
  await reader.release();
}

async function houseBalance(kind: 'surplus' | 'custody', asset: 'USDC' | 'EURC' = 'USDC'): Promise<bigint> {
  const { rows } = await db.query<{ balance: string }>('SELECT balance FROM ledger.accounts WHERE id = $1', [
    houseAccount(kind, asset),
  ]);
  return BigInt(rows[0]?.balance ?? 0);
}

test('nothing that came before the first start is credited', async () => {
  const user = await world.newUser();
  await chains.mint('MATIC', 'USDC', user.address, 5n);
  await settle();
  await chains.mint('MATIC', 'USDC', user.address, 7n);
  await settle();
  expect(await world.balance(user)).toBe(7n);
});

test('a chain that tells of its blocks is asked only when it has told of one, and until the node shows it', async () => {
  const network = chains.network('MATIC');
  const head = await network.client.getBlockNumber({ cacheTime: 0 });
  let shown = head;
  let asked = 0;
  const getBlockNumber = async () => {
    asked++;
    return shown;
  };
  const client = { ...network.client, getBlockNumber } as typeof network.client;
  const reader = world.reader('MATIC', { network: { ...network, client } });
  while ((await reader.step(head)) === 'more');
  const before = asked;
  expect([await reader.step(head), asked]).toEqual(['no_block', before]);
  expect(reader.holds).toBe(true);

  await chains.mine('MATIC');
  // The node lags behind.
  expect([await reader.step(head + 1n), asked]).toEqual(['no_block', before + 1]);
  shown = head + 1n;
  expect([await reader.step(head + 1n), asked]).toEqual(['caught_up', before + 2]);
  expect([await reader.step(head + 1n), asked]).toEqual(['no_block', before + 2]);
  // Nobody knows whether the chain would tell.
  expect([await reader.step(undefined), asked]).toEqual(['no_block', before + 3]);
  await reader.release();
});

test('a deposit is credited to the unit, once it is confirmed and not before', async () => {
  const user = await world.newUser();
  const ada = await chains.outsider({
    tokens: [
      { asset: 'USDC', atomic: 10n ** 15n },
      { asset: 'EURC', atomic: 500n },
    ],
  });
  await settle();
  const hash = await ada.sendToken({ asset: 'USDC', to: user.address, atomic: 123_456_789_654_321n });
  const reader = world.reader('MATIC');
  for (let confirmed = 1; confirmed < confirmations; confirmed++) {
    await readUp(reader);
    expect([confirmed, await world.balance(user)]).toEqual([confirmed, 0n]);
    await chains.mine('MATIC');
  }
  await readUp(reader);
  await reader.release();
  expect(await world.balance(user)).toBe(123_456_789_654_321n);

  await ada.sendToken({ asset: 'USDC', to: user.address, atomic: 1n });
  await ada.sendToken({ asset: 'EURC', to: user.address, atomic: 499n });
  await settle();
  expect([await world.balance(user), await world.balance(user, 'EURC')]).toEqual([123_456_789_654_322n, 499n]);

  const { rows } = await db.query(
    `SELECT d.tx_hash, d.sender, d.address, p.type, p.recipient_id, p.details->>'txHash' AS told, p.details->>'from' AS payer
       FROM deposits d JOIN ledger.postings p ON p.reference = 'deposit:MATIC:' || d.tx_hash || ':' || d.position
      WHERE d.account_id = $1 ORDER BY d.block_number LIMIT 1`,
    [user.id],
  );
  expect(rows).toEqual([
    {
      txHash: hash,
      sender: ada.address,
      address: user.address,
      type: 'deposit',
      recipientId: user.id,
      told: hash,
      payer: ada.address,
    },
  ]);
});

test('whoever asked to hear of deposits does', async () => {
  const user = await world.newUser();
  await db.query("INSERT INTO ledger.event_subscriptions VALUES ($1, 'deposit.received')", [user.id]);
  await chains.mint('MATIC', 'USDC', user.address, 5n);
  await settle();
  const { rows } = await db.query('SELECT type FROM ledger.events WHERE account_id = $1', [user.id]);
  expect(rows).toEqual([{ type: 'deposit.received' }]);
});

test('two deposits in one transaction are two deposits', async () => {
  const [one, two] = await world.newUsers(2);
  if (one === undefined || two === undefined) throw new Error('too few users');
  const ada = await chains.outsider();
  await payAtOnce(chains, 'MATIC', ada, [
    [one.address, 10n],
    [one.address, 10n],
    [ada.address, 50n],
    [two.address, 30n],
  ]);
  await settle();
  expect([await world.balance(one), await world.balance(two)]).toEqual([20n, 30n]);
  const { rows } = await db.query('SELECT position FROM deposits WHERE account_id = ANY ($1) ORDER BY position', [
    [one.id, two.id],
  ]);
  expect(rows.map(({ position }) => position)).toEqual([0, 1, 3]);
});

describe('what is not ours is not credited:', () => {
  const bridgedUsdc = '0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174';

  test('another token, and a contract that only says that it moved tokens', async () => {
    const user = await world.newUser();
    const ada = await chains.outsider();
    await chains.rpc('MATIC', 'hardhat_setCode', [bridgedUsdc, liarCode]);
    const { client } = chains.network('MATIC');
    const hash = await ada.wallet().sendTransaction({
      to: bridgedUsdc,
      data: concat([pad(ada.address), pad(user.address), toHex(10n ** 12n, { size: 32 })]),
      chain: client.chain ?? null,
    });
    const receipt = await client.getTransactionReceipt({ hash });
    expect(parseEventLogs({ abi: tokenAbi, logs: receipt.logs }).map(({ args }) => args)).toEqual([
      { from: ada.address, to: user.address, value: 10n ** 12n },
    ]);
    // The same contract as WMATIC, and at another address.
    const twin = '0x1000000000000000000000000000000000000077';
    await chains.rpc('MATIC', 'hardhat_setCode', [twin, await client.getCode({ address: wrappedCoin })]);
    await ada.wallet().sendTransaction({ to: twin, value: 77n, chain: client.chain ?? null });
    await ada.wallet().writeContract({
      address: twin,
      abi: tokenAbi,
      functionName: 'transfer',
      args: [user.address, 77n],
      chain: client.chain ?? null,
    });
    await settle();
    expect(await world.balance(user)).toBe(0n);
    expect((await db.query('SELECT FROM deposits WHERE account_id = $1', [user.id])).rows).toHaveLength(0);
  });

  test('nothing at all', async () => {
    const user = await world.newUser();
    const ada = await chains.outsider();
    await ada.sendToken({ asset: 'USDC', to: user.address, atomic: 0n });
    await settle();
    expect((await db.query('SELECT FROM deposits WHERE account_id = $1', [user.id])).rows).toHaveLength(0);
  });

  test('a transfer to somebody else', async () => {
    const before = await houseBalance('custody');
    const ada = await chains.outsider({ tokens: [{ asset: 'USDC', atomic: 10n }] });
    await ada.sendToken({ asset: 'USDC', to: '0x00000000000000000000000000000000000b0b00', atomic: 10n });
    await settle();
    expect(await houseBalance('custody')).toBe(before);
  });
});

test('a deposit on a chain that its owner never asked for is theirs', async () => {
  await settle('ARB');
  const [keeper, other] = (await world.newUsers(2)) as [User, User];
  await world.keepOn('ARB', [keeper]);
  for (const { address } of [keeper, other]) await chains.mint('ARB', 'USDC', address, 42n);
  await settle('ARB');
  expect(await world.balance(keeper, 'USDC', 'ARB')).toBe(42n);
  // Without a wallet there it waits to be carried home.
  expect(await world.balance(other, 'USDC', 'ARB')).toBe(0n);
  for (const { id } of [keeper, other]) {
    expect(await claimsOf(db, id)).toEqual([{ chain: 'ARB', total: amountOf('USDC', 42n) }]);
  }
  expect(await world.balance(keeper)).toBe(0n);
});

test('the house pays a user like anybody, and between its own wallets nothing is earned', async () => {
  const user = await world.newUser();
  const treasury = await houseWallet(db, 'treasury', 'MATIC');
  const gas = await houseWallet(db, 'gas', 'MATIC');
  const token = tokenOf(chains.network('MATIC'), 'USDC')?.address ?? zeroAddress;
  const surplus = await houseBalance('surplus');
  await chains.mint('MATIC', 'USDC', treasury.address, 100n);
  await chains.rpc('MATIC', 'hardhat_setBalance', [treasury.address, toHex(10n ** 20n)]);
  const send = (to: Hex, atomic: bigint) =>
    world.provider.sendToken({ idempotencyKey: crypto.randomUUID(), from: treasury, token, to, atomic });
  await send(user.address, 30n);
  await send(gas.address, 20n);
  await settle();
  expect(await world.balance(user)).toBe(30n);
  // The mint came from outside; the 20 that went on to the gas wallet had been counted then.
  expect((await houseBalance('surplus')) - surplus).toBe(100n);
  const { rows } = await db.query('SELECT account_id FROM deposits WHERE address = ANY ($1)', [
    [treasury.address, gas.address],
  ]);
  expect(rows).toEqual([{ accountId: null }]);
});

test('a frozen account still receives', async () => {
  const user = await world.newUser();
  await db.query('UPDATE accounts SET frozen_at = now() WHERE id = $1', [user.id]);
  await chains.mint('MATIC', 'USDC', user.address, 9n);
  await settle();
  expect(await world.balance(user)).toBe(9n);
});

test('retired wallets are watched for ever', async () => {
  const user = await world.newUser();
  await db.query('UPDATE wallets SET retired_at = now() WHERE account_id = $1', [user.id]);
  await chains.mint('MATIC', 'USDC', user.address, 9n);
  await settle();
  expect(await world.balance(user)).toBe(9n);
});

describe('each deposit is credited once', () => {
  test.each(readingCheckpoints)('when the process ends at %s', async (name) => {
    const users = await world.newUsers(3);
    for (const user of users) await chains.mint('MATIC', 'USDC', user.address, 11n);
    await chains.mine('MATIC', confirmations);
    const doomed = world.reader('MATIC', { checkpoint: endAt(name) });
    await expect(readUp(doomed)).rejects.toThrow(Ended);
    await endLeases(world.database);
    await settle();
    for (const user of users) expect(await world.balance(user)).toBe(11n);
  });

  test('when several processes read the same blocks at once', async () => {
    const users = await world.newUsers(20);
    for (const user of users) await chains.mint('MATIC', 'USDC', user.address, 11n);
    await chains.mine('MATIC', confirmations);
    // A lease this short is no lease at all.
    const readers = Array.from({ length: 4 }, () => world.reader('MATIC', { leaseMs: 0, mostBlocks: 5n }));
    await Promise.all(
      readers.map(async (reader) => {
        for (let left = 15; left > 0; left--) await reader.step();
      }),
    );
    await endLeases(world.database);
    await settle();
    for (const user of users) expect(await world.balance(user)).toBe(11n);
  });

  test('while one process holds the chain another one leaves it alone', async () => {
    const [first, second] = [world.reader('MATIC'), world.reader('MATIC')];
    await readUp(first);
    await chains.mine('MATIC', 5);
    expect(await second.step()).toBe('elsewhere');
    expect([first.holds, second.holds]).toEqual([true, false]);
    await first.release();
    expect(await second.step()).toBe('caught_up');
    expect([first.holds, second.holds]).toEqual([false, true]);
    await second.release();
  });
});

test('two services at once credit within moments, and the chains count as read', async () => {
  const { networks } = chains;
  const { ledger, log } = world;
  const start = () => startWatchers({ db, ledger, networks, logger: log.logger, leaseMs: 10_000 });
  const services = [start(), start()];
  try {
    await expect.poll(() => createSilentChains(db, networks)()).toEqual([]);
    const users = await world.newUsers(5);
    await world.keepOn('BASE', users);
    for (const user of users) await chains.mint('BASE', 'USDC', user.address, 13n);
    await chains.mine('BASE', confirmations);
    for (const user of users) {
      await expect.poll(() => world.balance(user, 'USDC', 'BASE')).toBe(13n);
    }
    expect(services.filter((service) => service.holds('BASE'))).toHaveLength(1);
    expect(services.map((service) => service.troubleOn('BASE'))).toEqual([undefined, undefined]);
  } finally {
    for (const service of services) await service.stop();
  }
  await db.query("UPDATE chain_cursors SET read_at = now() - interval '61 seconds' WHERE chain = 'OP'");
  expect(await createSilentChains(db, networks)()).toEqual(['OP']);
});

test('the first block to read may be named', async () => {
  const user = await world.newUser();
  await world.keepOn('AVAX', [user]);
  const hash = await chains.mint('AVAX', 'USDC', user.address, 5n);
  const { blockNumber } = await chains.network('AVAX').client.getTransactionReceipt({ hash });
  await chains.mint('AVAX', 'USDC', user.address, 6n);
  await chains.mine('AVAX', confirmations);
  await db.query("DELETE FROM chain_cursors WHERE chain = 'AVAX'");
  await db.query("DELETE FROM chain_checkpoints WHERE chain = 'AVAX'");
  await readUp(world.reader('AVAX', { startBlock: blockNumber + 1n }));
  expect(await world.balance(user, 'USDC', 'AVAX')).toBe(6n);
});

test('the books are sound after all this', async () => {
  const { problems } = await verifyLedger(db);
  expect(problems).toEqual([]);
});
