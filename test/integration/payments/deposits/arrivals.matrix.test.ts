import { randomBytes } from 'node:crypto';
import { encodeFunctionData, type Hex, parseUnits, toHex } from 'viem';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { multicallAddress, tokenAbi } from '../../../../src/chains/abi.ts';
import type { Network } from '../../../../src/chains/network.ts';
import { reportReserves } from '../../../../src/custody/reserves/report.ts';
import { findStep } from '../../../../src/custody/steps/chain-step.ts';
import { nameProof } from '../../../../src/custody/steps/match-arrival.ts';
import { type Expected, planStep } from '../../../../src/custody/steps/plan-step.ts';
import { authorizationProof, messageProof } from '../../../../src/custody/steps/receipt-proofs.ts';
import { settleStep } from '../../../../src/custody/steps/settle-step.ts';
import { type StepEnd, type StepProgress, takeStep } from '../../../../src/custody/steps/take-step.ts';
import { type HouseWallet, houseWallet } from '../../../../src/custody/wallets/house-wallets.ts';
import type { TransactionReport, WalletProvider } from '../../../../src/custody/wallets/provider.ts';
import { createAddressBook } from '../../../../src/custody/watch/address-book.ts';
import { locateTransfers, readTransfers } from '../../../../src/custody/watch/read-transfers.ts';
import { Ended } from '../../../../src/kernel/sagas/checkpoint.ts';
import { houseAccount } from '../../../../src/ledger/account-id.ts';
import { houseBalance } from '../../../../src/ledger/balances.ts';
import type { Ledger } from '../../../../src/ledger/ledger.ts';
import { amountOf, toDecimalText } from '../../../../src/money/amount.ts';
import type { ChainReader } from '../../../../src/payments/deposits/read-chain.ts';
import { receiveAtHouse } from '../../../../src/payments/deposits/receive-at-house.ts';
import {
  authorize,
  type Call,
  callAtOnce,
  delivery,
  encodeCalls,
  placeTransmitter,
  submission,
  usdcOn,
} from '../../../support/arrivals.ts';
import type { Outsider } from '../../../support/chains.ts';
import { handOf } from '../../../support/custody.ts';
import { endAt, endLeases, readUp, useDepositWorld } from '../../../support/deposits.ts';
import { oneOfMany } from '../../../support/matrix.ts';
import { startUnrulyRpc } from '../../../support/unruly-rpc.ts';

const chain = 'MATIC';
const confirmations = 3;
const world = useDepositWorld({ confirmations });
const { database, chains } = world;
const { db } = database;

let treasury: HouseWallet;
let gas: HouseWallet;
let reader: ChainReader;
let stranger: Outsider;
let passerBy: Outsider;

beforeAll(async () => {
  await handOf(world).fillTanks();
  await placeTransmitter(chains);
  treasury = await houseWallet(db, 'treasury', chain);
  gas = await houseWallet(db, 'gas', chain);
});

beforeEach(async () => {
  // Every test has expectations of its own.
  await db.query('UPDATE chain_step_arrivals SET ended_at = now() WHERE arrived_at IS NULL AND ended_at IS NULL');
  stranger = await chains.outsider({ tokens: [{ asset: 'USDC', atomic: 1_000n }] });
  passerBy = await chains.outsider();
  reader = world.reader(chain);
  await confirm();
  world.log.clear();
  return async () => {
    await reader.release();
    expect(await difference()).toBe('0');
  };
});

async function confirm(): Promise<void> {
  await chains.mine(chain, confirmations);
  await readUp(reader);
}

const surplus = async () => (await houseBalance(db, 'surplus', 'USDC', chain)).atomic;
const bridged = async () => (await houseBalance(db, 'bridges_in_transit', 'USDC', chain)).atomic;

/** What has come since, as surplus and for the account that steps have named. */
async function since(): Promise<() => Promise<{ surplus: bigint; named: bigint }>> {
  const [surplusBefore, namedBefore] = [await surplus(), await bridged()];
  return async () => ({ surplus: (await surplus()) - surplusBefore, named: (await bridged()) - namedBefore });
}

async function reserves(network: Network = chains.network(chain)) {
  const { logger } = world.log;
  const report = await reportReserves({ db, networks: new Map([[chain, network]]), logger, chainTimeoutMs: 60_000 });
  const found = report.reserves.find(({ asset }) => asset === 'USDC');
  if (found === undefined) throw new Error('there is no row for USDC');
  return found;
}

/** Decimal text of USDC, so many atomic units more. */
const plus = (text: string | null, atomic: bigint) =>
  toDecimalText(amountOf('USDC', parseUnits(text ?? '', 6) + atomic));

const difference = async () => (await reserves()).difference;

async function undecided(): Promise<Hex[]> {
  const { rows } = await db.query<{ txHash: Hex }>('SELECT tx_hash FROM undecided_arrivals ORDER BY seen_at');
  return rows.map(({ txHash }) => txHash);
}

async function depositsOf(hash: Hex) {
  const { rows } = await db.query('SELECT atomic, step_id, account_id FROM deposits WHERE tx_hash = $1', [hash]);
  return rows;
}

/** A step of a saga that expects USDC at the treasury, for the account of what is bridged. */
async function plan(knownBy: Expected['knownBy'], atomic?: bigint) {
  const which = { sagaId: `brg_${randomBytes(8).toString('hex')}`, step: 'mint' };
  const account = houseAccount('bridges_in_transit', 'USDC', chain);
  const arrives = [{ chain, address: treasury.address, asset: 'USDC', account, knownBy } as const].map((expected) =>
    atomic === undefined ? expected : { ...expected, atomic },
  );
  await db.transaction((tx) => planStep(tx, { saga: 'bridge', ...which, chain, wallet: gas, arrives }));
  const planned = await findStep(db, which);
  if (planned === undefined) throw new Error('nothing was planned');
  return { ...which, id: planned.id };
}

type Which = Awaited<ReturnType<typeof plan>>;

const name = (which: Which, proof: string) => db.transaction((tx) => nameProof(tx, { ...which, asset: 'USDC', proof }));

function take(which: Which, calls: readonly Call[], provider: WalletProvider = world.provider): Promise<StepProgress> {
  const { networks } = chains;
  const data = encodeCalls(calls);
  return takeStep({ db, networks, provider }, which, (from) => ({ from, contract: multicallAddress, data }));
}

const settle = (which: Which, end: StepEnd) => db.transaction((tx) => settleStep(tx, which, end));

const wokenJobs = async ({ sagaId }: Which) =>
  (
    await db.query('SELECT task_identifier FROM graphile_worker.jobs WHERE key = $1 AND run_at <= now()', [sagaId])
  ).rows.map(({ taskIdentifier }) => taskIdentifier);

/** Money that nobody has asked for. */
const gift = (atomic: bigint) => stranger.sendToken({ asset: 'USDC', to: treasury.address, atomic });

const authorized = (atomic: bigint, nonce?: Hex) =>
  authorize(chains, stranger, { to: treasury.address, atomic, ...(nonce !== undefined && { nonce }) });

const proofOf = ({ from, nonce }: { from: Hex; nonce: Hex }) => authorizationProof(usdcOn(chains), from, nonce);

/** A provider that takes whatever it is asked for, and says of it what it is told to. */
function secretive(): { readonly provider: WalletProvider; report: TransactionReport } {
  const secret: ReturnType<typeof secretive> = {
    report: { state: 'pending' },
    provider: {
      ...world.provider,
      name: world.provider.name,
      execute: async ({ idempotencyKey }: { idempotencyKey: string }) => `secret:${idempotencyKey}`,
      lookUp: async () => secret.report,
    } as WalletProvider,
  };
  return secret;
}

describe('what nobody expects', () => {
  test('is surplus, once, however often its blocks are read', async () => {
    const came = await since();
    const hash = await gift(40n);
    await confirm();
    expect(await came()).toEqual({ surplus: 40n, named: 0n });
    for (const again of [world.reader(chain), world.reader(chain)]) {
      await db.query('UPDATE chain_cursors SET block_number = block_number - 3, block_hash = $1', [
        await hashBefore(3n),
      ]);
      await endLeases(database);
      await readUp(again);
      await again.release();
    }
    expect(await came()).toEqual({ surplus: 40n, named: 0n });
    expect(await depositsOf(hash)).toEqual([{ atomic: 40n, stepId: null, accountId: null }]);
    expect(await undecided()).toEqual([]);
  });

  test('is surplus once when several read it at the same time', { tags: ['matrix'] }, async () => {
    const came = await since();
    await gift(41n);
    await gift(42n);
    await receiveByMany();
    expect(await came()).toEqual({ surplus: 83n, named: 0n });
    expect(await undecided()).toEqual([]);
    await confirm();
    expect(await came()).toEqual({ surplus: 83n, named: 0n });
  });

  test('is surplus although something else is expected by its proof', async () => {
    const came = await since();
    await plan({ proof: proofOf(await authorized(40n)) }, 40n);
    await gift(40n);
    await confirm();
    expect(await came()).toEqual({ surplus: 40n, named: 0n });
  });
});

/** The hash of the block so many before the last one that was read. */
async function hashBefore(blocks: bigint): Promise<Hex> {
  return (await chains.network(chain).client.getBlock({ blockNumber: (await readTo()) - blocks })).hash;
}

/** Several processes that have read the same new blocks, as when a lease has run out under one of them. */
async function receiveByMany(): Promise<void> {
  await chains.mine(chain, confirmations);
  const { client } = chains.network(chain);
  const book = createAddressBook(db);
  await book.refresh();
  const [from, to] = [(await readTo()) + 1n, await client.getBlockNumber()];
  const located = await locateTransfers(
    chains.network(chain),
    await readTransfers(chains.network(chain), { from, to }, book),
  );
  const parts = { db, ledger: world.ledger, logger: world.log.logger };
  await Promise.all(Array.from({ length: 6 }, () => receiveAtHouse(parts, chain, located)));
}

async function readTo(): Promise<bigint> {
  const { rows } = await db.query<{ blockNumber: bigint }>('SELECT block_number FROM chain_cursors WHERE chain = $1', [
    chain,
  ]);
  return rows[0]?.blockNumber ?? 0n;
}

describe('what comes with our own transaction', () => {
  test('is for the account that the step names, and its saga is woken', async () => {
    const came = await since();
    const which = await plan('transaction', 100n);
    const calls = [submission(chains, await authorized(100n))];
    expect(await take(which, calls)).toMatchObject({ state: 'waiting' });
    expect(await wokenJobs(which)).toEqual([]);
    await confirm();
    expect(await came()).toEqual({ surplus: 0n, named: 100n });
    expect(await wokenJobs(which)).toEqual(['saga_MATIC']);

    const end = await take(which, calls);
    expect(end).toMatchObject({ state: 'confirmed', hash: expect.stringMatching(/^0x/) });
    expect(await depositsOf((end as { hash: Hex }).hash)).toEqual([
      { atomic: 100n, stepId: which.id, accountId: null },
    ]);
    await settle(which, end as StepEnd);
  });

  test('is for that account all of it, however many transfers it is in', { tags: ['matrix'] }, async () => {
    const came = await since();
    const which = await plan('transaction');
    const calls = [submission(chains, await authorized(30n)), submission(chains, await authorized(31n))];
    await take(which, calls);
    await confirm();
    expect(await came()).toEqual({ surplus: 0n, named: 61n });
    await settle(which, (await take(which, calls)) as StepEnd);
  });

  test('is not decided while nobody knows which transaction it is, and then rightly', async () => {
    const came = await since();
    const before = await reserves();
    const secret = secretive();
    const which = await plan('transaction', 50n);
    await take(which, [], secret.provider);
    const [own, other] = [await gift(50n), await gift(50n)];
    await gift(51n);
    await confirm();
    expect(await undecided()).toEqual([own, other]);
    expect(await came()).toEqual({ surplus: 51n, named: 0n });
    expect(await reserves()).toMatchObject({ difference: '0', inFlight: plus(before.inFlight, 100n) });

    secret.report = { state: 'pending', hash: own };
    await take(which, [], secret.provider);
    await confirm();
    expect(await came()).toEqual({ surplus: 101n, named: 50n });
    expect(await undecided()).toEqual([]);
    const { blockNumber } = await chains.network(chain).client.getTransactionReceipt({ hash: own });
    await settle(which, { state: 'confirmed', hash: own, blockNumber, gasCost: 0n });
  });

  test('is surplus when the step has failed', { tags: ['matrix'] }, async () => {
    const came = await since();
    const secret = secretive();
    const which = await plan('transaction', 50n);
    await take(which, [], secret.provider);
    const early = await gift(50n);
    await confirm();
    expect(await undecided()).toEqual([early]);
    await settle(which, { state: 'failed', reason: 'It was refused.', gasCost: 0n });
    await gift(50n);
    await confirm();
    expect(await undecided()).toEqual([]);
    expect(await came()).toEqual({ surplus: 100n, named: 0n });
    expect(await wokenJobs(which)).toEqual([]);
  });

  test('is surplus when it came before anybody was asked', async () => {
    const came = await since();
    const which = await plan('transaction', 50n);
    await gift(50n);
    await confirm();
    await take(which, [], secretive().provider);
    await confirm();
    expect(await undecided()).toEqual([]);
    expect(await came()).toEqual({ surplus: 50n, named: 0n });
  });
});

describe('what an authorization brings', () => {
  test('is for the account that the step names, whoever submits it, and once', async () => {
    const came = await since();
    const authorization = await authorized(70n);
    const which = await plan({ proof: proofOf(authorization) }, 70n);
    const hash = await callAtOnce(passerBy, [submission(chains, authorization)]);
    await receiveByMany();
    await confirm();
    expect(await came()).toEqual({ surplus: 0n, named: 70n });
    expect(await depositsOf(hash)).toEqual([{ atomic: 70n, stepId: which.id, accountId: null }]);
    expect(await wokenJobs(which)).toEqual(['saga_MATIC']);

    await callAtOnce(passerBy, [submission(chains, await authorized(70n))]);
    await gift(70n);
    await confirm();
    expect(await came()).toEqual({ surplus: 140n, named: 70n });
  });

  test('is found among others of the same transaction', { tags: ['matrix'] }, async () => {
    const came = await since();
    const [first, second, third] = [await authorized(20n), await authorized(20n), await authorized(20n)];
    const which = await plan({ proof: proofOf(second) }, 20n);
    const calls = [first, second, third].map((one) => submission(chains, one));
    const hash = await callAtOnce(passerBy, calls);
    await confirm();
    expect(await came()).toEqual({ surplus: 40n, named: 20n });
    expect((await depositsOf(hash)).map(({ stepId }) => stepId).filter(Boolean)).toEqual([which.id]);
  });

  test('is not taken for it when another amount was authorized with the same nonce', async () => {
    const came = await since();
    const shown = await authorized(70n);
    const which = await plan({ proof: proofOf(shown) }, 70n);
    await callAtOnce(passerBy, [submission(chains, await authorized(1n, shown.nonce))]);
    await confirm();
    expect(await came()).toEqual({ surplus: 1n, named: 0n });
    expect(await wokenJobs(which)).toEqual([]);
  });

  test('still comes to the account when the step that submits it has failed', { tags: ['matrix'] }, async () => {
    const came = await since();
    const authorization = await authorized(70n);
    const which = await plan({ proof: proofOf(authorization) }, 70n);
    await take(which, [], secretive().provider);
    await settle(which, { state: 'failed', reason: 'Somebody else was faster.', gasCost: 0n });
    await callAtOnce(passerBy, [submission(chains, authorization)]);
    await confirm();
    expect(await came()).toEqual({ surplus: 0n, named: 70n });
  });

  test('is counted as in flight until its proof is known, and then goes to the account', async () => {
    const [came, before] = [await since(), await reserves()];
    const which = await plan({ proof: null }, 60n);
    const authorization = await authorized(60n);
    const hash = await callAtOnce(passerBy, [submission(chains, authorization)]);
    await confirm();
    await confirm();
    expect(await undecided()).toEqual([hash]);
    expect(await came()).toEqual({ surplus: 0n, named: 0n });
    expect(await reserves()).toMatchObject({ difference: '0', inFlight: plus(before.inFlight, 60n) });
    expect(await wokenJobs(which)).toEqual([]);

    await name(which, proofOf(authorization));
    await confirm();
    expect(await undecided()).toEqual([]);
    expect(await came()).toEqual({ surplus: 0n, named: 60n });
    expect(await wokenJobs(which)).toEqual(['saga_MATIC']);
  });

  test('is surplus once nobody can have meant it', { tags: ['matrix'] }, async () => {
    const came = await since();
    const [one, other] = [await plan({ proof: null }, 60n), await plan({ proof: null })];
    const hash = await callAtOnce(passerBy, [submission(chains, await authorized(60n))]);
    await confirm();
    await name(one, proofOf(await authorized(60n)));
    await confirm();
    expect(await undecided()).toEqual([hash]);
    await name(other, proofOf(await authorized(60n)));
    await confirm();
    expect(await undecided()).toEqual([]);
    expect(await came()).toEqual({ surplus: 60n, named: 0n });
  });

  test('has one proof, which does not change', async () => {
    const [first, second] = [await authorized(60n), await authorized(60n)];
    const which = await plan({ proof: proofOf(first) }, 60n);
    await name(which, proofOf(second));
    await callAtOnce(passerBy, [submission(chains, second)]);
    const came = await since();
    await confirm();
    expect(await came()).toEqual({ surplus: 60n, named: 0n });
    await expect(plan({ proof: proofOf(first) }, 60n)).rejects.toThrow('chain_step_arrivals_proof');
  });

  test('is not left undecided by whoever reads it at the same time as another, when more is expected', async () => {
    const came = await since();
    const authorization = await authorized(70n);
    await plan({ proof: proofOf(authorization) }, 70n);
    await plan({ proof: null });
    await callAtOnce(passerBy, [submission(chains, authorization)]);
    await receiveByMany();
    expect(await undecided()).toEqual([]);
    expect(await came()).toEqual({ surplus: 0n, named: 70n });
    await confirm();
    expect(await came()).toEqual({ surplus: 0n, named: 70n });
  });
});

describe('what a message brings', () => {
  const nonce = () => toHex(randomBytes(32));

  test('is for the account that the step names, whoever delivers it', async () => {
    const came = await since();
    const message = { sourceDomain: 6, nonce: nonce(), to: treasury.address, atomic: 80n };
    const which = await plan({ proof: messageProof(message.sourceDomain, message.nonce) });
    const hash = await callAtOnce(passerBy, delivery(chains, message));
    await confirm();
    expect(await came()).toEqual({ surplus: 0n, named: 80n });
    expect(await depositsOf(hash)).toEqual([{ atomic: 80n, stepId: which.id, accountId: null }]);
    expect(await wokenJobs(which)).toEqual(['saga_MATIC']);
  });

  test('is found among several of one transaction, and is no gift that came along', { tags: ['matrix'] }, async () => {
    const came = await since();
    const [ours, theirs] = [nonce(), nonce()];
    const which = await plan({ proof: messageProof(6, ours) });
    const message = { sourceDomain: 6, to: treasury.address };
    await callAtOnce(passerBy, [
      ...delivery(chains, { ...message, nonce: theirs, atomic: 81n }),
      submission(chains, await authorized(1n)),
      ...delivery(chains, { ...message, nonce: ours, atomic: 82n }),
    ]);
    await confirm();
    expect(await came()).toEqual({ surplus: 82n, named: 82n });
    expect(await wokenJobs(which)).toEqual(['saga_MATIC']);
  });

  test('of another domain with the same nonce is another one', { tags: ['matrix'] }, async () => {
    const came = await since();
    const same = nonce();
    await plan({ proof: messageProof(6, same) });
    await callAtOnce(passerBy, delivery(chains, { sourceDomain: 7, nonce: same, to: treasury.address, atomic: 80n }));
    await confirm();
    expect(await came()).toEqual({ surplus: 80n, named: 0n });
  });

  test('waits for its nonce to be known', async () => {
    const came = await since();
    const message = { sourceDomain: 6, nonce: nonce(), to: treasury.address, atomic: 80n };
    const which = await plan({ proof: null });
    await callAtOnce(passerBy, delivery(chains, message));
    await confirm();
    expect(await came()).toEqual({ surplus: 0n, named: 0n });
    expect(await difference()).toBe('0');
    await name(which, messageProof(6, message.nonce));
    await confirm();
    expect(await came()).toEqual({ surplus: 0n, named: 80n });
  });
});

describe('a process that ends', () => {
  /** Reads with processes that end at these places, and then with one that does not. */
  async function readThrough(places: readonly string[]): Promise<void> {
    for (const place of places) {
      await endLeases(database);
      const dying = world.reader(chain, { checkpoint: endAt(place) });
      await expect(readUp(dying)).rejects.toThrow(Ended);
    }
    await endLeases(database);
    reader = world.reader(chain);
    await readUp(reader);
  }

  const dyingLedger = (): Ledger => ({
    ...world.ledger,
    postWithin: async () => {
      throw new Ended('posting');
    },
  });

  for (const place of ['deposits.read', 'deposits.credited', 'deposits.cursor_moved']) {
    test(
      `at ${place} has decided nothing twice`,
      oneOfMany({ isRepresentative: place === 'deposits.credited' }),
      async () => {
        const came = await since();
        const authorization = await authorized(70n);
        const which = await plan({ proof: proofOf(authorization) }, 70n);
        await plan({ proof: null }, 71n);
        await callAtOnce(passerBy, [submission(chains, authorization)]);
        await gift(5n);
        const waiting = await gift(71n);
        await chains.mine(chain, confirmations);
        await readThrough([place, place].slice(0, place === 'deposits.cursor_moved' ? 1 : 2));
        expect(await came()).toEqual({ surplus: 5n, named: 70n });
        expect(await undecided()).toEqual([waiting]);
        expect(await wokenJobs(which)).toEqual(['saga_MATIC']);
      },
    );
  }

  test('between the match and its posting has written nothing', async () => {
    const came = await since();
    const authorization = await authorized(70n);
    const which = await plan({ proof: proofOf(authorization) }, 70n);
    await callAtOnce(passerBy, [submission(chains, authorization)]);
    await chains.mine(chain, confirmations);
    await endLeases(database);
    await expect(readUp(world.reader(chain, { ledger: dyingLedger() }))).rejects.toThrow(Ended);
    expect(await wokenJobs(which)).toEqual([]);
    expect(await undecided()).toEqual([]);
    await readThrough([]);
    expect(await came()).toEqual({ surplus: 0n, named: 70n });
    expect(await wokenJobs(which)).toEqual(['saga_MATIC']);
  });

  test('while it decides what had to wait has decided nothing by halves', async () => {
    const came = await since();
    const which = await plan({ proof: null }, 70n);
    const authorization = await authorized(70n);
    const hash = await callAtOnce(passerBy, [submission(chains, authorization)]);
    await confirm();
    await name(which, proofOf(authorization));
    await endLeases(database);
    await expect(readUp(world.reader(chain, { ledger: dyingLedger() }))).rejects.toThrow(Ended);
    expect(await undecided()).toEqual([hash]);
    expect(await wokenJobs(which)).toEqual([]);
    await readThrough([]);
    expect(await came()).toEqual({ surplus: 0n, named: 70n });
    expect(await undecided()).toEqual([]);
  });
});

describe('what waits for a decision', () => {
  test('is not forgotten because a node does not know of it for a moment', { tags: ['matrix'] }, async () => {
    const came = await since();
    const which = await plan({ proof: null }, 65n);
    const authorization = await authorized(65n);
    const hash = await callAtOnce(passerBy, [submission(chains, authorization)]);
    await confirm();
    const settings = chains.local.settings.get(chain);
    if (settings === undefined) throw new Error(`${chain} is not running`);
    const rpc = await startUnrulyRpc(chain, { ...settings, confirmations });
    await endLeases(database);
    reader = world.reader(chain, { network: rpc.network });
    // It answers for what it has, and lags behind its sisters.
    rpc.misbehave(({ method }) => (method === 'eth_getTransactionReceipt' ? { result: null } : undefined));
    await readUp(reader).catch(() => undefined);
    rpc.misbehave(() => undefined);
    await readUp(reader);
    expect(await undecided()).toEqual([hash]);
    await name(which, proofOf(authorization));
    await readUp(reader);
    expect(await came()).toEqual({ surplus: 0n, named: 65n });
  });

  test('is forgotten when a reorganisation takes it away, and what comes instead is read', async () => {
    const came = await since();
    const which = await plan({ proof: null });
    const transfer = await signGift(66n);
    const before = await chains.rpc<Hex>(chain, 'evm_snapshot');
    const hash = await chains.rpc<Hex>(chain, 'eth_sendRawTransaction', [transfer]);
    await confirm();
    expect(await undecided()).toEqual([hash]);

    await turnBack(before);
    await chains.rpc(chain, 'eth_sendRawTransaction', [await signGift(33n)]);
    await chains.mine(chain, confirmations * 2);
    await readUp(reader);
    await readUp(reader);
    expect(await undecided()).not.toContain(hash);
    expect(await difference()).toBe('0');
    expect(world.log.lines('error')).toContainEqual(expect.objectContaining({ txHash: hash }));
    await name(which, 'cctp:1:0x01');
    await confirm();
    expect(await came()).toEqual({ surplus: 33n, named: 0n });
    expect(await depositsOf(hash)).toEqual([]);
  });

  test('stays what it is when a reorganisation only moves it', async () => {
    const came = await since();
    const which = await plan({ proof: null });
    const transfer = await signGift(67n);
    const before = await chains.rpc<Hex>(chain, 'evm_snapshot');
    const hash = await chains.rpc<Hex>(chain, 'eth_sendRawTransaction', [transfer]);
    await confirm();
    const seen = await db.query('SELECT seen_at FROM undecided_arrivals WHERE tx_hash = $1', [hash]);

    await turnBack(before);
    await chains.mine(chain, 2);
    expect(await chains.rpc<Hex>(chain, 'eth_sendRawTransaction', [transfer])).toBe(hash);
    await chains.mine(chain, confirmations * 2);
    await readUp(reader);
    await readUp(reader);
    expect(await undecided()).toEqual([hash]);
    expect(await db.query('SELECT seen_at FROM undecided_arrivals WHERE tx_hash = $1', [hash])).toMatchObject({
      rows: seen.rows,
    });
    await name(which, 'cctp:1:0x02');
    await confirm();
    expect(await came()).toEqual({ surplus: 67n, named: 0n });
  });
});

/** A transfer of the stranger's that can be sent on either branch of the chain. */
function signGift(atomic: bigint): Promise<Hex> {
  return stranger.wallet().signTransaction({
    account: stranger.account,
    chain: chains.network(chain).client.chain ?? null,
    to: usdcOn(chains),
    data: encodeFunctionData({ abi: tokenAbi, functionName: 'transfer', args: [treasury.address, atomic] }),
    nonce: 0,
    gas: 200_000n,
    maxFeePerGas: 10n ** 11n,
    maxPriorityFeePerGas: 10n ** 9n,
    type: 'eip1559',
  });
}

/** Undoes everything since the snapshot. The blocks of the new branch differ from the old ones by their time. */
async function turnBack(id: Hex): Promise<void> {
  expect(await chains.rpc(chain, 'evm_revert', [id])).toBe(true);
  await chains.rpc(chain, 'evm_increaseTime', [7]);
}
