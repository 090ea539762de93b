import { randomBytes, randomUUID } from 'node:crypto';
import { type Hex, toHex } from 'viem';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Network } from '../../../../src/chains/network.ts';
import { reconcile } from '../../../../src/custody/reserves/reconcile.ts';
import { reportReserves } from '../../../../src/custody/reserves/report.ts';
import { planStep } from '../../../../src/custody/steps/plan-step.ts';
import { messageProof } from '../../../../src/custody/steps/receipt-proofs.ts';
import { houseWallet } from '../../../../src/custody/wallets/house-wallets.ts';
import type { Arrival, LocatedTransfer } from '../../../../src/custody/watch/read-transfers.ts';
import type { Checkpoint } from '../../../../src/kernel/sagas/checkpoint.ts';
import { houseAccount } from '../../../../src/ledger/account-id.ts';
import { houseBalance } from '../../../../src/ledger/balances.ts';
import { type ChainId, homeChain } from '../../../../src/money/catalogue.ts';
import { checkHeldDeposits, heldCheckpoints } from '../../../../src/payments/deposits/check-held-deposits.ts';
import { creditDeposits } from '../../../../src/payments/deposits/credit-deposits.ts';
import { listHeld, rejectHeld, releaseHeld } from '../../../../src/payments/deposits/held-deposit.ts';
import { type OneNodeLimit, oneNodeLimit } from '../../../../src/payments/deposits/one-node-limit.ts';
import { receiveAtHouse } from '../../../../src/payments/deposits/receive-at-house.ts';
import { listDeposits } from '../../../../src/payments/deposits/routes.ts';
import { endAt, endLeases, readUp, type User, useDepositWorld } from '../../../support/deposits.ts';
import { forgeTransfer, networkOf, startNode } from '../../../support/lying-node.ts';
import { oneOfMany } from '../../../support/matrix.ts';
import type { UnrulyRpc } from '../../../support/unruly-rpc.ts';
import { until } from '../../../support/until.ts';

const world = useDepositWorld({ pollMs: 10 });
const { chains, database } = world;
const { db } = database;
const limit = oneNodeLimit(1_000);
const million = 1_000_000_000_000n;
const large = 2_000_000_000n;
const small = 1_000_000_000n;

let user: User;
let first: UnrulyRpc;
let second: UnrulyRpc;
let network: Network;

/** Two nodes of two hosts, of which the first is asked first, before a chain that was read up to its end. */
async function begin(chain: ChainId = homeChain): Promise<void> {
  [first, second] = [await startNode(chains, chain, 2), await startNode(chains, chain, 3)];
  network = networkOf(chains, chain, [first.url, second.url]);
  user = await world.newUser();
  // What earlier tests have credited on the word of one node is an hour ago, and what they have held is decided.
  await db.query("UPDATE deposits SET created_at = created_at - interval '2 hours' WHERE one_node");
  await db.query('UPDATE held_deposits SET rejected_at = now() WHERE rejected_at IS NULL AND released_at IS NULL');
  await read();
  world.log.clear();
}

/** A process that has just started reads the chain up to its end: the last block once more. */
async function read(through: Network = network): Promise<void> {
  await endLeases(database);
  const reader = world.reader(through.id, { network: through, oneNodeLimit: limit });
  await readUp(reader);
  await reader.release();
}

async function look({
  checkpoint,
  through = network,
}: {
  checkpoint?: Checkpoint;
  through?: Network;
} = {}): Promise<void> {
  await db.query('UPDATE held_deposits SET look_after = now() WHERE rejected_at IS NULL');
  await checkHeldDeposits({ db, ledger: world.ledger, logger: world.log.logger, checkpoint }, through);
}

const mint = (atomic: bigint, chain: ChainId = homeChain) => chains.mint(chain, 'USDC', user.address, atomic);
const open = async () => (await listHeld(db)).filter(({ rejectedAt }) => rejectedAt === null);

async function onlyHeld() {
  const [held, ...others] = await open();
  if (held === undefined || others.length > 0) throw new Error(`${others.length + 1} are held`);
  return held;
}

/** A step that expects something at the treasury, with what proves it if that is known already. */
async function expectFromStep(proof: string | null): Promise<void> {
  const { address } = await houseWallet(db, 'treasury', homeChain);
  const wallet = await houseWallet(db, 'gas', homeChain);
  const account = houseAccount('bridges_in_transit', 'USDC', homeChain);
  const arrives = [{ chain: homeChain, address, asset: 'USDC', account, knownBy: { proof } } as const];
  const sagaId = `brg_${randomUUID()}`;
  await db.transaction((tx) =>
    planStep(tx, { saga: 'bridge', sagaId, step: 'burn', chain: homeChain, wallet, arrives }),
  );
}

async function held(through: Network = network): Promise<void> {
  const networks = new Map([[through.id, through]]);
  const { reserves } = await reportReserves({ db, networks, logger: world.log.logger, chainTimeoutMs: 30_000 });
  expect(reserves.filter(({ difference }) => difference !== '0')).toEqual([]);
}

async function fits(through: Network = network): Promise<void> {
  const networks = new Map([[through.id, through]]);
  await held(through);
  expect((await reconcile({ db, networks, sagas: [] })).filter((line) => line.startsWith(through.id))).toEqual([]);
}

beforeEach(() => begin());

describe('a million that one node invents', () => {
  test('is held and keeps nobody waiting: not the cursor, not another deposit', async () => {
    const [other] = await world.newUsers(1);
    const hash = await forgeTransfer(chains, homeChain, first, { to: user.address, atomic: million });
    await read();
    expect(await world.balance(user)).toBe(0n);
    await chains.mint(homeChain, 'USDC', other?.address as Hex, small);
    await read();
    expect(await world.balance(other as User)).toBe(small);
    for (let time = 0; time < 3; time++) await look();
    expect(await world.balance(user)).toBe(0n);
    const { because, arrival } = await onlyHeld();
    expect(because).toBe('only 127.0.0.2 shows it');
    expect(arrival).toMatchObject({ txHash: hash, atomic: million });
    // The log tells of it once, however often it is looked at.
    expect(world.log.lines('warn')).toEqual([expect.objectContaining({ txHash: hash, because })]);
    await fits();
  });

  test('is seen by its owner as pending, and never by anybody as money', async () => {
    await forgeTransfer(chains, homeChain, first, { to: user.address, atomic: million });
    await read();
    const { deposits } = await listDeposits(db, { accountId: user.id, limit: 10, cursor: undefined });
    expect(deposits).toEqual([expect.objectContaining({ status: 'pending', amount: '1000000', transferId: null })]);
  });

  test('is not believed because the same host is asked twice', { tags: ['matrix'] }, async () => {
    await forgeTransfer(chains, homeChain, first, { to: user.address, atomic: million });
    const alone = networkOf(chains, homeChain, [first.url, `${first.url}/another-key`]);
    await read(alone);
    await look({ through: alone });
    expect((await onlyHeld()).because).toBe('only one host is configured: the operator has to decide');
    expect(await world.balance(user)).toBe(0n);
  });

  test('is not believed when it is invented for a real transaction, with more than it has moved', async () => {
    const hash = await mint(large);
    const inflate = (log: { data: Hex; transactionHash: Hex }) =>
      log.transactionHash === hash ? { ...log, data: `0x${'0'.repeat(54)}ffffffffff` } : log;
    first.misbehave(({ method, params }) => {
      if (method === 'eth_getLogs') return (logs: never[]) => logs.map(inflate);
      if (method !== 'eth_getTransactionReceipt' || params[0] !== hash) return undefined;
      return (receipt: { logs: never[] }) => ({ ...receipt, logs: receipt.logs.map(inflate) });
    });
    await read();
    await look();
    const { arrival, because } = await onlyHeld();
    expect(arrival.atomic).toBe(0xffffffffffn);
    expect(because).toBe('the nodes disagree about it');
    expect(await world.balance(user)).toBe(0n);
    await fits();
    // When it tells the truth again, two nodes show what has come, and that is credited.
    first.misbehave(() => undefined);
    await look();
    expect(await world.balance(user)).toBe(large);
    await fits();
  });

  test('at a house wallet is not surplus either', { tags: ['matrix'] }, async () => {
    const { address } = await houseWallet(db, 'treasury', homeChain);
    const before = await houseBalance(db, 'surplus', 'USDC', homeChain);
    await forgeTransfer(chains, homeChain, first, { to: address, atomic: million });
    await read();
    await look();
    expect(await houseBalance(db, 'surplus', 'USDC', homeChain)).toEqual(before);
    expect((await db.query('SELECT FROM undecided_arrivals')).rows).toEqual([]);
    await fits();
  });

  test('that the operator rejects is named, and not credited by reading it again or by two nodes that lie', async () => {
    const hash = await forgeTransfer(chains, homeChain, first, { to: user.address, atomic: million });
    await read();
    const { id } = await onlyHeld();
    await rejectHeld(db, id);
    await read();
    await look();
    expect(await open()).toEqual([]);
    expect((await listHeld(db)).find((held) => held.id === id)?.arrival.txHash).toBe(hash);
    await expect(releaseHeld(db, id)).rejects.toThrow('already rejected');
    await expect(db.query('UPDATE held_deposits SET rejected_at = NULL WHERE id = $1', [id])).rejects.toThrow(
      'rejected',
    );
    await expect(db.query('DELETE FROM held_deposits WHERE id = $1', [id])).rejects.toThrow('rejected');
    expect(await world.balance(user)).toBe(0n);
    await fits();
  });
});

describe('while it is being credited, whoever reads it does not hold it a second time,', () => {
  /** Inside a commit that credits: begins to read the same, and goes on when that waits for this commit. */
  function readMeanwhile(arrival: Arrival, oneNodeLimit: OneNodeLimit) {
    let reading: Promise<number> | undefined;
    return {
      onDeposits: async () => {
        reading = creditDeposits({ db, ledger: world.ledger, logger: world.log.logger, oneNodeLimit }, homeChain, [
          arrival,
        ]);
        await until('the reader to wait', async () => {
          const { rows } = await db.query(
            "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
          );
          return rows.length > 0;
        });
      },
      ended: () => reading,
    };
  }

  async function creditedOnce(): Promise<void> {
    expect(await world.balance(user)).toBe(large);
    expect(await open()).toEqual([]);
  }

  const arrivalOf = async (): Promise<Arrival> => {
    const { depositId: _, ...arrival } = (await onlyHeld()).arrival;
    return arrival;
  };

  test('after two nodes have shown it', async () => {
    await mint(large);
    await read();
    const { onDeposits, ended } = readMeanwhile(await arrivalOf(), limit);
    await checkHeldDeposits({ db, ledger: world.ledger, logger: world.log.logger, onDeposits }, network);
    await ended();
    await creditedOnce();
  });

  test('because it was the last that there was room for', { tags: ['matrix'] }, async () => {
    await mint(large);
    await read();
    const arrival = await arrivalOf();
    await db.query('DELETE FROM held_deposits WHERE rejected_at IS NULL');
    const justEnough = { atOnce: large, perHour: large };
    const { onDeposits, ended } = readMeanwhile(arrival, justEnough);
    const parts = { db, ledger: world.ledger, logger: world.log.logger, oneNodeLimit: justEnough, onDeposits };
    await creditDeposits(parts, homeChain, [arrival]);
    await ended();
    await creditedOnce();
  });
});

describe('a large deposit', () => {
  test('is credited by two nodes in the first look, under the name that it had', async () => {
    await mint(large);
    await read();
    await fits();
    const { id } = await onlyHeld();
    await look();
    expect(await world.balance(user)).toBe(large);
    expect(await open()).toEqual([]);
    const { rows } = await db.query('SELECT id, one_node FROM deposits WHERE account_id = $1', [user.id]);
    expect(rows).toEqual([{ id, oneNode: false }]);
    expect(world.log.lines('warn')).toEqual([]);
    await read();
    await look();
    expect(await world.balance(user)).toBe(large);
    await fits();
  });

  test('waits for a second node that is silent, beside one that is not, and then goes on by itself', {
    tags: ['matrix'],
  }, async () => {
    await mint(small);
    await mint(large);
    second.misbehave(() => 'down');
    await read();
    await look();
    expect(await world.balance(user)).toBe(small);
    expect((await onlyHeld()).because).toBe('no second node answers');
    await fits();
    second.misbehave(() => undefined);
    await look();
    expect(await world.balance(user)).toBe(small + large);
    await fits();
  });

  test('is not proven by a receipt in a block that the node itself does not have', { tags: ['matrix'] }, async () => {
    await mint(large);
    await read();
    const elsewhere = (result: { hash: Hex }) => ({ ...result, hash: `0x${'ab'.repeat(32)}` });
    second.misbehave(({ method }) => (method === 'eth_getBlockByNumber' ? elsewhere : undefined));
    await look();
    expect((await onlyHeld()).because).toMatch(/only 127\.0\.0\.2 shows it/);
    second.misbehave(() => undefined);
    await look();
    expect(await world.balance(user)).toBe(large);
  });

  for (const place of heldCheckpoints) {
    test(
      `is credited once when the process ends at ${place}`,
      oneOfMany({ isRepresentative: place === 'deposits.believed' }),
      async () => {
        await mint(large);
        await read();
        await expect(look({ checkpoint: endAt(place) })).rejects.toThrow();
        await read();
        await look();
        await look();
        expect(await world.balance(user)).toBe(large);
        await fits();
      },
    );
  }

  test('that the operator releases is credited once, though it is read and looked at by many at once', async () => {
    second.misbehave(() => 'down');
    await mint(large);
    await read();
    const { id } = await onlyHeld();
    await releaseHeld(db, id);
    await expect(releaseHeld(db, id)).rejects.toThrow('already released');
    await endLeases(database);
    const readers = Array.from({ length: 3 }, () =>
      world.reader(homeChain, { network, oneNodeLimit: limit, leaseMs: 1 }),
    );
    await Promise.allSettled([...readers.map((reader) => reader.step()), look(), look(), look()]);
    await read();
    await look();
    expect(await world.balance(user)).toBe(large);
    expect(await open()).toEqual([]);
    second.misbehave(() => undefined);
    await fits();
  });

  test('that the operator has seen is not released as something else that one node has made of it since', {
    tags: ['matrix'],
  }, async () => {
    const txHash = await mint(large);
    await read();
    const { id, arrival } = await onlyHeld();
    await chains.mine(homeChain);
    await read();
    await forgeTransfer(chains, homeChain, first, { to: user.address, atomic: million, instead: arrival });
    await read();
    expect((await onlyHeld()).arrival).toMatchObject({ txHash, atomic: million });
    await releaseHeld(db, id).catch(() => undefined);
    await look();
    expect(await world.balance(user)).toBe(0n);
    await expect(releaseHeld(db, id)).rejects.toThrow(`${id} is not held.`);
    first.misbehave(() => undefined);
    await look();
    expect(await world.balance(user)).toBe(large);
    await fits();
  });

  test('of a coin is one that counts as much at more than it was ever worth', async () => {
    const tenth = 10n ** 17n;
    await chains.mint(homeChain, 'ETH', user.address, tenth);
    await chains.mint(homeChain, 'ETH', user.address, tenth + 1n);
    await read();
    expect(await world.balance(user, 'ETH')).toBe(tenth);
    expect((await onlyHeld()).arrival.atomic).toBe(tenth + 1n);
  });
});

test('small deposits that one node alone tells of count together within the hour', async () => {
  for (let time = 0; time < 4; time++) await mint(small - 1n);
  await read();
  expect(await world.balance(user)).toBe(2n * (small - 1n));
  expect(await open()).toHaveLength(2);
  await fits();
  await look();
  expect(await world.balance(user)).toBe(4n * (small - 1n));
  // What two nodes have shown counts for nothing: there is no more room, and no less.
  await mint(2n);
  await mint(3n);
  await read();
  expect(await world.balance(user)).toBe(4n * (small - 1n) + 2n);
  await db.query("UPDATE deposits SET created_at = created_at - interval '61 minutes' WHERE one_node");
  await mint(small);
  await read();
  // What is read once more finds room now. It is in the books, and held no more when it is looked at.
  await look();
  expect(await world.balance(user)).toBe(4n * (small - 1n) + 2n + 3n + small);
  expect(await open()).toEqual([]);
  await fits();
});

test('on a rollup what is large waits for a finalized block on both nodes, and what is small does not', async () => {
  const chain = 'BASE';
  await begin(chain);
  await world.keepOn(chain, [user]);
  const { number: before } = await chains.network(chain).client.getBlock();
  await mint(small, chain);
  await mint(large, chain);
  const lagging = ({ method, params }: { method: string; params: readonly unknown[] }) =>
    method === 'eth_getBlockByNumber' && params[0] === 'finalized'
      ? (result: object) => ({ ...result, number: `0x${before.toString(16)}` })
      : undefined;
  second.misbehave(lagging);
  await read();
  await look();
  expect(await world.balance(user, 'USDC', chain)).toBe(small);
  expect((await onlyHeld()).because).toBe('its block is not final yet');
  expect(world.log.lines('warn')).toEqual([]);
  await fits();
  second.misbehave(() => undefined);
  await look();
  expect(await world.balance(user, 'USDC', chain)).toBe(small + large);
  await fits();
});

test('reserves are asked of every host, and a node that shows more than the others is not believed', async () => {
  await mint(small);
  await read();
  await fits();
  // The last word of the answer is what the last of our wallets holds.
  const richer = (answer: string) => `${answer.slice(0, -20)}fffff${answer.slice(-15)}`;
  for (const [liar, other] of [
    [first, second],
    [second, first],
  ] as const) {
    const before = other.asked.get('eth_call') ?? 0;
    liar.misbehave(({ method }) => (method === 'eth_call' ? richer : undefined));
    await held();
    expect(other.asked.get('eth_call')).toBeGreaterThan(before);
    expect(world.log.lines('error').map(({ msg }) => msg)).toContain('the nodes of a chain disagree about our balance');
    // Where it does not answer, whoever does is better than nobody.
    liar.misbehave(() => 'down');
    await held();
    liar.misbehave(() => undefined);
  }
});

// Last, because what is believed here was never on the chain.
describe('what nobody could decide yet, because one node has not told yet what proves it,', () => {
  let proof: string;
  const bridged = () => houseBalance(db, 'bridges_in_transit', 'USDC', homeChain);

  let txHash: Hex;

  /** As the node tells of it, before it tells what proves it and then. */
  async function tell({ atomic, proofs }: Pick<Arrival, 'atomic' | 'proofs'>): Promise<void> {
    const { address: recipient } = await houseWallet(db, 'treasury', homeChain);
    const { number: blockNumber } = await chains.network(homeChain).client.getBlock();
    const place = { txHash, position: 0, blockNumber, recipient, sender: user.address };
    const transfer = { ...place, asset: 'USDC', atomic, proofs } as LocatedTransfer;
    const parts = { db, ledger: world.ledger, logger: world.log.logger, oneNodeLimit: limit };
    await receiveAtHouse(parts, homeChain, [transfer]);
  }

  /** Two steps expect something, and of one it is known what proves it. */
  beforeEach(async () => {
    txHash = toHex(randomBytes(32));
    proof = messageProof(1, toHex(randomBytes(32)));
    await db.query('UPDATE chain_step_arrivals SET ended_at = now()');
    await db.query('DELETE FROM undecided_arrivals');
    for (const proofOfStep of [proof, null]) await expectFromStep(proofOfStep);
  });

  test('is not a million because it was little before', async () => {
    const before = await bridged();
    await tell({ atomic: 10n, proofs: [] });
    await tell({ atomic: million, proofs: [proof] });
    expect(await bridged()).toEqual(before);
    expect((await onlyHeld()).arrival).toMatchObject({ atomic: million });
  });

  test('counts within the hour when it is decided as well', { tags: ['matrix'] }, async () => {
    await tell({ atomic: small, proofs: [] });
    await tell({ atomic: small, proofs: [proof] });
    const { rows } = await db.query('SELECT one_node FROM deposits WHERE tx_hash = $1', [txHash]);
    expect(rows).toEqual([{ oneNode: true }]);
  });
});
