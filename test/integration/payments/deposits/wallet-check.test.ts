import { randomBytes } from 'node:crypto';
import { toHex } from 'viem';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { houseWallet } from '../../../../src/custody/wallets/house-wallets.ts';
import { createAddressBook } from '../../../../src/custody/watch/address-book.ts';
import { houseBalance } from '../../../../src/ledger/balances.ts';
import { createWalletCheck, type WalletCheck } from '../../../../src/payments/deposits/check-wallets.ts';
import { oneNodeLimit } from '../../../../src/payments/deposits/one-node-limit.ts';
import type { ChainReader } from '../../../../src/payments/deposits/read-chain.ts';
import { type Hand, handOf } from '../../../support/custody.ts';
import { endLeases, readUp, type User, useDepositWorld } from '../../../support/deposits.ts';
import { startNode } from '../../../support/lying-node.ts';
import type { UnrulyRpc } from '../../../support/unruly-rpc.ts';

const chain = 'MATIC';
const confirmations = 3;
const world = useDepositWorld({ confirmations });
const { chains, database, log } = world;
const { db } = database;

let node: UnrulyRpc;
let reader: ChainReader;
let user: User;
let hand: Hand;

beforeAll(async () => {
  await readUp(world.reader(chain));
  hand = handOf(world);
  await hand.fillTanks();
});

beforeEach(async () => {
  node = await startNode(chains, chain, 1);
  user = await world.newUser();
  await endLeases(database);
  reader = world.reader(chain, { network: { ...node.network, confirmations } });
  await readUp(reader);
  log.clear();
  return () => reader.release();
});

function openCheck(options: { readonly oneNodeLimit?: ReturnType<typeof oneNodeLimit> } = {}): WalletCheck {
  const { ledger } = world;
  return createWalletCheck(
    { db, ledger, logger: log.logger, book: createAddressBook(db), ...options },
    { ...node.network, confirmations },
  );
}

/** The blocks are read while the node shows no logs at all; afterwards it does. */
async function readBlind(): Promise<void> {
  node.misbehave(({ method }) => (method === 'eth_getLogs' ? { result: [] } : undefined));
  for (let range = 0; range < 3; range++) await confirm();
  node.misbehave(() => undefined);
}

async function confirm(): Promise<void> {
  await chains.mine(chain, confirmations);
  await readUp(reader);
}

/** Some turns compare all wallets, wherever the first one began. */
async function goRound(check: WalletCheck): Promise<void> {
  for (let turn = 0; turn < 3; turn++) {
    await check.turn();
    await confirm();
  }
}

describe('a transfer whose log was never shown is found by what the wallet holds,', () => {
  test('at a user’s wallet', async () => {
    const hash = await chains.mint(chain, 'USDC', user.address, 50n);
    await readBlind();
    expect(await world.balance(user)).toBe(0n);
    const check = openCheck();
    await goRound(check);
    expect(await world.balance(user)).toBe(50n);
    expect(log.lines('warn')).toEqual([expect.objectContaining({ chain, txHash: hash, atomic: '50' })]);
    await goRound(check);
    expect(await world.balance(user)).toBe(50n);
    expect(log.lines('warn')).toHaveLength(1);
  });

  test('at a house wallet, also at the address of another chain', async () => {
    const surplus = async () => (await houseBalance(db, 'surplus', 'USDC', chain)).atomic;
    const before = await surplus();
    for (const home of ['MATIC', 'BASE'] as const) {
      await chains.mint(chain, 'USDC', (await houseWallet(db, 'treasury', home)).address, 7n);
    }
    await readBlind();
    expect(await surplus()).toBe(before);
    await openCheck().turn();
    expect((await surplus()) - before).toBe(14n);
  });

  test('and is held like any other when one node is not believed that much', async () => {
    await chains.mint(chain, 'USDC', user.address, 5_000_000n);
    await readBlind();
    await goRound(openCheck({ oneNodeLimit: oneNodeLimit(0) }));
    expect(await world.balance(user)).toBe(0n);
    const { rows } = await db.query('SELECT atomic FROM held_deposits WHERE account_id = $1', [user.id]);
    expect(rows).toEqual([{ atomic: 5_000_000n }]);
    log.clear();
    await goRound(openCheck());
    expect(log.lines('warn')).toEqual([]);
  });
});

test('what no block explains is told once, with what the operator can do', async () => {
  await chains.mint(chain, 'USDC', user.address, 11n);
  node.misbehave(({ method }) => (method === 'eth_getLogs' ? { result: [] } : undefined));
  await confirm();
  const check = openCheck();
  await goRound(check);
  await goRound(check);
  expect(log.lines('error')).toEqual([
    expect.objectContaining({
      chain,
      wallet: user.address.toLowerCase(),
      atomic: '11',
      msg: expect.stringContaining('paywright deposits read'),
    }),
  ]);
  node.misbehave(() => undefined);
  await goRound(openCheck());
  expect(await world.balance(user)).toBe(11n);
});

test('nothing is missed while sweeps and withdrawals are under way', async () => {
  const check = openCheck();
  const look = async () => {
    await check.turn();
    expect(log.lines('warn')).toEqual([]);
  };
  await chains.mint(chain, 'USDC', user.address, 100_000_000n);
  await look();
  await confirm();
  await look();
  // Signed and sent, not read yet, and then read.
  await hand.sweeper.step();
  await look();
  await confirm();
  await look();
  await hand.sweeper.step();
  await look();
  const to = toHex(randomBytes(20));
  const id = await hand.withdraw(user.id, { gross: 40_000_000n, fee: 1_000_000n, to });
  await look();
  await hand.advance(id);
  await confirm();
  await look();
  await hand.advance(id);
  await confirm();
  await look();
  expect(await chains.balanceOf(chain, 'USDC', to)).toBe(39_000_000n);
});

test('a turn costs one request for any number of accounts, and all of them have their turn', async () => {
  const { rows } = await db.query<{ id: bigint }>('SELECT id FROM accounts ORDER BY id LIMIT 1');
  await db.query(
    `INSERT INTO wallets (id, account_id, chain, provider, provider_ref, address, retired_at)
     SELECT 'many_' || n, $1, 'OP', 'keys', n, '0x' || lpad(to_hex(n), 40, '0'), now() FROM generate_series(1, 400) n`,
    [rows[0]?.id],
  );
  await chains.mint(chain, 'USDC', user.address, 50n);
  await readBlind();
  const check = openCheck();
  let turns = 0;
  while ((await world.balance(user)) === 0n && turns < 12) {
    const before = new Map(node.asked);
    await check.turn();
    turns += 1;
    const asked = (method: string) => (node.asked.get(method) ?? 0) - (before.get(method) ?? 0);
    expect(asked('eth_call')).toBe(1);
    if ((await world.balance(user)) === 0n) expect(asked('eth_getLogs')).toBe(0);
    await confirm();
  }
  expect(await world.balance(user)).toBe(50n);
  // Without a new block nothing is asked.
  await check.turn();
  const before = node.asked.get('eth_call');
  await check.turn();
  expect(node.asked.get('eth_call')).toBe(before);
});
