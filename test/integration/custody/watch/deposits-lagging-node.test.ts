import type { Hex } from 'viem';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { houseWallet } from '../../../../src/custody/wallets/house-wallets.ts';
import { houseBalance } from '../../../../src/ledger/balances.ts';
import { endLeases, payAtOnce, readUp, type User, useDepositWorld } from '../../../support/deposits.ts';
import { startNode } from '../../../support/lying-node.ts';
import type { UnrulyRpc } from '../../../support/unruly-rpc.ts';

// As on Avalanche: few confirmations, so that an index of logs soon lags further behind than that.
const confirmations = 3;
const chain = 'AVAX';
const world = useDepositWorld({ confirmations });
const { chains, database, log } = world;
const { db } = database;

const minuteMs = 60_000;
let now: number;
const clock = { now: () => now };
let node: UnrulyRpc;
let user: User;

beforeEach(async () => {
  now = 0;
  user = await world.newUser();
  await world.keepOn(chain, [user]);
  node = await startNode(chains, chain, 1);
  await endLeases(database);
  await readUp(openReader());
  await endLeases(database);
  log.clear();
});

function openReader() {
  const reader = world.reader(chain, { network: { ...node.network, confirmations }, clock });
  onTestFinished(() => reader.release());
  return reader;
}

/** The node has the blocks, and no logs of this one and any later. */
function hideLogsFrom(block: bigint): void {
  node.misbehave(({ method }) =>
    method === 'eth_getLogs'
      ? (logs: { blockNumber: Hex }[]) => logs.filter(({ blockNumber }) => BigInt(blockNumber) < block)
      : undefined,
  );
}

async function pay(to: Hex, atomic: bigint): Promise<{ readonly hash: Hex; readonly block: bigint }> {
  const hash = await chains.mint(chain, 'USDC', to, atomic);
  const { blockNumber } = await chains.network(chain).client.getTransactionReceipt({ hash });
  return { hash, block: blockNumber };
}

const balance = () => world.balance(user, 'USDC', chain);

describe('a deposit whose log the node shows late is credited,', () => {
  test.each([
    ['after a minute, when the index lagged for some blocks', minuteMs],
    ['after a quarter of an hour, when it lagged for many', 15 * minuteMs],
  ])('%s', async (_, lagMs) => {
    const reader = openReader();
    await readUp(reader);
    const { hash, block } = await pay(user.address, 50n);
    hideLogsFrom(block);
    // Long after the confirmations: the next ranges do not overlap with its block.
    for (let step = 0; step < 4; step++) {
      await chains.mine(chain, 10);
      await readUp(reader);
    }
    for (const passed of [minuteMs, 5 * minuteMs].filter((ms) => ms < lagMs)) {
      now = passed;
      await chains.mine(chain, 10);
      await readUp(reader);
      expect(await balance()).toBe(0n);
    }
    node.misbehave(() => undefined);
    now = lagMs;
    // Each step reads one range again, and several are due.
    for (let step = 0; step < 3; step++) await readUp(reader);
    expect(await balance()).toBe(50n);
    expect(log.lines('warn')).toEqual([expect.objectContaining({ chain, txHash: hash, atomic: '50' })]);

    // Once, however often its block is read.
    now += 30 * minuteMs;
    await chains.mine(chain, 10);
    await readUp(reader);
    expect(await balance()).toBe(50n);
    expect(log.lines('warn')).toHaveLength(1);
  });

  test('by the process that takes over, when the first one has ended meanwhile', async () => {
    const first = openReader();
    await readUp(first);
    const { block } = await pay(user.address, 50n);
    hideLogsFrom(block);
    await chains.mine(chain, 40);
    await readUp(first);
    node.misbehave(() => undefined);
    await endLeases(database);
    await readUp(openReader());
    expect(await balance()).toBe(50n);
  });

  test('also at a house wallet, where mints and swaps arrive', async () => {
    const reader = openReader();
    await readUp(reader);
    const surplus = async () => (await houseBalance(db, 'surplus', 'USDC', chain)).atomic;
    const before = await surplus();
    const { block } = await pay((await houseWallet(db, 'treasury', chain)).address, 7n);
    hideLogsFrom(block);
    await chains.mine(chain, 40);
    await readUp(reader);
    node.misbehave(() => undefined);
    now = minuteMs;
    await readUp(reader);
    expect((await surplus()) - before).toBe(7n);
  });
});

test('of two equal transfers of one transaction the one that is shown late is credited too', async () => {
  const reader = openReader();
  await readUp(reader);
  const sender = await chains.outsider({ chains: [chain] });
  const twice = [50n, 50n].map((atomic) => [user.address, atomic] as const);
  await payAtOnce(chains, chain, sender, twice);
  node.misbehave(({ method }) => (method === 'eth_getLogs' ? (logs: unknown[]) => logs.slice(0, 1) : undefined));
  await chains.mine(chain, 10);
  await readUp(reader);
  expect(await balance()).toBe(50n);
  node.misbehave(() => undefined);
  for (const minutes of [1, 5, 15]) {
    now = minutes * minuteMs;
    await chains.mine(chain, 10);
    for (let step = 0; step < 4; step++) await readUp(reader);
  }
  expect(await balance()).toBe(100n);
});

test('a lagging node is not asked for blocks that it does not have', async () => {
  const reader = openReader();
  await readUp(reader);
  const { block } = await pay(user.address, 50n);
  hideLogsFrom(block);
  await chains.mine(chain, 40);
  await readUp(reader);
  node.misbehave(({ method }) => (method === 'eth_blockNumber' ? { result: '0x1' } : undefined));
  now = minuteMs;
  const asked = node.asked.get('eth_getLogs');
  expect(await reader.step()).toBe('no_block');
  expect(node.asked.get('eth_getLogs')).toBe(asked);
});

test('an idle chain is asked one more question a minute', async () => {
  const reader = openReader();
  await readUp(reader);
  const before = new Map(node.asked);
  const polls = 45;
  for (let poll = 0; poll < polls; poll++) {
    await chains.mine(chain, 2);
    now += 4_000;
    await reader.step();
  }
  const asked = [...node.asked].map(([method, times]) => [method, times - (before.get(method) ?? 0)] as const);
  // Three minutes: for each poll the head, the cursor's block, the new one and its logs; and twice those of the minute before.
  expect(new Map(asked.filter(([, times]) => times > 0))).toEqual(
    new Map([
      ['eth_blockNumber', polls],
      ['eth_getBlockByNumber', 2 * polls],
      ['eth_getLogs', polls + 2],
    ]),
  );
});
