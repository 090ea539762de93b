// @module-tag thorough
import type { Hex } from 'viem';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openSeeds } from '../../../../src/custody/adapters/keys/seeds.ts';
import { houseMoveHandler } from '../../../../src/custody/treasury/house-move.ts';
import { beginMoves } from '../../../../src/custody/treasury/move-retired.ts';
import { rotateSeed } from '../../../../src/custody/treasury/rotate-seed.ts';
import { createSagaRunner } from '../../../../src/kernel/sagas/run-saga.ts';
import { createSecrets } from '../../../../src/kernel/secrets/secrets.ts';
import type { Attestation } from '../../../../src/payments/bridge/attestations.ts';
import { type BridgeParts, findBurner } from '../../../../src/payments/bridge/parts.ts';
import { useBridgeWorld } from '../../../support/bridges.ts';
import { handOf } from '../../../support/custody.ts';
import type { User } from '../../../support/deposits.ts';
import { startUnrulyRpc } from '../../../support/unruly-rpc.ts';

const world = useBridgeWorld();
const { chains, log } = world.deposits;
const { db } = world.deposits.database;

const amount = 5_000_000n;
const gasFee = 40_000n;
const way = { from: 'MATIC', to: 'BASE', atomic: amount + gasFee, gasFee } as const;
const nothingDiffers = { MATIC: '0', BASE: '0' };
const unknown = async (): Promise<Attestation> => ({ state: 'unknown' });
const errors = () => log.lines('error').map(({ msg }) => msg);

async function begin(): Promise<{ user: User; id: string }> {
  const user = await world.newRich('MATIC', amount + gasFee);
  return { user, id: await world.open(user, way) };
}

async function expectArrived(user: User, id: string): Promise<void> {
  await world.goOn(id, 'completed');
  expect(await world.balance(user, 'MATIC')).toBe(0n);
  expect(await world.balance(user, 'BASE')).toBe(amount);
  expect(await world.eventsOf(user)).toEqual(['bridge.completed']);
  expect(await world.differences()).toEqual(nothingDiffers);
}

beforeEach(() => log.clear());
afterEach(() => world.checkAtRest());

describe('a reorganisation that is deeper than the confirmations', () => {
  /** Goes on until it is approved, and nothing of the burn was asked for. */
  async function approved(): Promise<{ user: User; id: string; before: Hex }> {
    const { user, id } = await begin();
    await world.goOn(id, 'burning', world.step);
    return { user, id, before: await chains.rpc<Hex>('MATIC', 'evm_snapshot') };
  }

  /** Undoes everything since then, and mines so many blocks that whoever reads the chain notices. */
  async function turnBack(before: Hex): Promise<void> {
    expect(await chains.rpc('MATIC', 'evm_revert', [before])).toBe(true);
    await chains.rpc('MATIC', 'evm_increaseTime', [7]);
  }

  /** A transaction of the wallet that burns, which no process of ours has sent, in the place of the burn. */
  async function useNonce(id: string): Promise<void> {
    const { address } = await findBurner(db, await world.look(id));
    await chains.rpc('MATIC', 'hardhat_impersonateAccount', [address]);
    await chains.rpc('MATIC', 'eth_sendTransaction', [{ from: address, to: address, value: '0x0' }]);
    await chains.rpc('MATIC', 'hardhat_stopImpersonatingAccount', [address]);
  }

  test('has undone the burn, and its nonce is free: it is sent again as it was', async () => {
    const { user, id, before } = await approved();
    const { burnHash } = await world.goOn(id, 'waiting_attestation');
    await turnBack(before);
    await chains.mine('MATIC', 5);
    expect(await world.held('bridge', 'MATIC')).toBe(amount);
    world.attestationsSay(unknown);
    await world.advance(id);
    expect(await world.waitsFor(id)).toMatch(/come back to the chain/);
    expect(await world.held('bridge', 'MATIC')).toBe(0n);
    expect(await world.look(id)).toMatchObject({ status: 'waiting_attestation', burns: 1, burnHash });
    await world.read();
    expect(await world.differences()).toEqual(nothingDiffers);
    await expectArrived(user, id);
    expect((await world.steps(id)).map(({ step }) => step)).toEqual(['fill', 'approve', 'burn', 'mint']);
    expect(await world.allowance('MATIC')).toBe(0n);
  });

  test('has undone the burn, and another transaction has its nonce: it is burnt again, once', async () => {
    const { user, id, before } = await approved();
    await world.goOn(id, 'waiting_attestation');
    await turnBack(before);
    await useNonce(id);
    await chains.mine('MATIC', 5);
    // It is read up to the fork and no further.
    await world.readOnce();
    expect(await world.differences()).toEqual(nothingDiffers);
    // Two processes notice at the same time.
    world.attestationsSay(unknown, unknown);
    const processes = [world.runnerOf(), world.runnerOf()];
    await Promise.all(processes.map((one) => one.advance({ saga: 'bridge', id })));
    expect(
      errors().filter((msg) => msg === 'a burn was permanently removed from the chain: burning again'),
    ).not.toEqual([]);
    expect(await world.look(id)).toMatchObject({ status: 'burning', burns: 2 });
    expect(await world.owed('bridges_in_transit', 'MATIC')).toBe(amount + gasFee);
    expect(await world.owed('receivables', 'BASE')).toBe(0n);
    expect(await world.differences()).toEqual(nothingDiffers);
    await world.read();
    expect(await world.differences()).toEqual(nothingDiffers);
    await world.goOn(id, 'waiting_attestation');
    expect(await world.differences()).toEqual(nothingDiffers);
    await expectArrived(user, id);
    expect((await world.steps(id)).map(({ step }) => step)).toEqual(['fill', 'approve', 'burn', 'burn_2', 'mint']);
    const { rows } = await db.query(
      "SELECT type FROM ledger.postings WHERE reference LIKE 'bridge:' || $1 || ':%' ORDER BY posted_at",
      [id],
    );
    expect(rows.map(({ type }) => type)).toEqual(['bridge_burnt', 'bridge_undone', 'bridge_burnt', 'bridge_completed']);
    expect(await world.allowance('MATIC')).toBe(0n);
  });

  test('has undone a burn that was attested: the message stays good, and nothing is burnt for it again', async () => {
    const { user, id } = await begin();
    await world.goOn(id, 'minting');
    world.providerPlays('mint', 'refuses');
    await world.advance(id);
    const { burnHash, burnNonce } = await world.look(id);
    const say = (hash: string | null, nonce: bigint | null) =>
      db.query('UPDATE bridges SET burn_hash = $2, burn_nonce = $3 WHERE id = $1', [id, hash, nonce]);
    // As if its transaction were gone, and the one before it stood in its place.
    await say(`0x${'0d'.repeat(32)}`, (burnNonce ?? 0n) - 1n);
    world.attestationsSay(unknown);
    await world.advance(id);
    expect(await world.look(id)).toMatchObject({ status: 'waiting_attestation', burns: 1 });
    await say(burnHash, burnNonce);
    await expectArrived(user, id);
  });

  test('has undone the burn before it was in the books: it is sent again all the same', async () => {
    const { user, id, before } = await approved();
    // The provider says that it is final; nobody has taken note of it yet.
    await world.step(id);
    const [, , burn] = await world.steps(id);
    expect(await world.deposits.provider.lookUp('MATIC', burn?.providerRef ?? '')).toMatchObject({
      state: 'confirmed',
    });
    await turnBack(before);
    await chains.mine('MATIC', 5);
    await world.read();
    await expectArrived(user, id);
  });

  test('is not what it looks like when a node lags behind its sisters: nothing is burnt again', async () => {
    const { user, id } = await begin();
    await world.goOn(id, 'waiting_attestation');
    const settings = chains.local.settings.get('MATIC');
    if (settings === undefined) throw new Error('there is no Polygon');
    const rpc = await startUnrulyRpc('MATIC', settings);
    rpc.misbehave(({ method }) => (method === 'eth_getTransactionReceipt' ? { result: null } : undefined));
    const networks: BridgeParts['networks'] = new Map([...chains.networks, ['MATIC', rpc.network]]);
    world.attestationsSay(unknown);
    await world.runnerOf({ networks }).advance({ saga: 'bridge', id });
    expect(rpc.asked.get('eth_getTransactionReceipt')).toBeGreaterThan(0);
    expect(await world.look(id)).toMatchObject({ status: 'waiting_attestation', burns: 1 });
    await expectArrived(user, id);
  });
});

test('a withdrawal does not wait for ever behind a bridge that the treasury cannot fill', async () => {
  const hand = handOf(world.deposits);
  await hand.fillTanks();
  const rich = await world.deposits.newUser();
  const much = 100_000_000_000n;
  await chains.mint('MATIC', 'USDC', rich.address, much);
  await world.read();
  const id = await world.open(rich, { ...way, atomic: much, gasFee: 0n });
  const other = await world.newRich('MATIC', 3_000_000n);
  const outside: Hex = '0x00000000000000000000000000000000000000aa';
  const withdrawal = await hand.withdraw(other.id, { gross: 3_000_000n, fee: 0n, to: outside });
  const impatient = world.runnerOf({ passAfterMs: 0 });
  await impatient.advance({ saga: 'bridge', id });
  await hand.advance(withdrawal);
  expect(await chains.balanceOf('MATIC', 'USDC', outside)).toBe(0n);
  expect(await world.waitsFor(id)).toMatch(/USDC to reach the treasury/);
  await impatient.advance({ saga: 'bridge', id });
  expect(errors()).toContain('there is not enough for 100000 USDC: later steps are served first');
  await hand.advance(withdrawal);
  await world.read();
  await hand.advance(withdrawal);
  expect(await chains.balanceOf('MATIC', 'USDC', outside)).toBe(3_000_000n);
  expect(await world.look(id)).toMatchObject({ status: 'pending' });
  await world.read();
  expect(await world.differences()).toEqual(nothingDiffers);
  await hand.sweeper.step();
  await world.read();
  await hand.sweeper.step();
  await world.goOn(id, 'completed');
  expect(await world.balance(rich, 'BASE')).toBe(much);
});

describe('a rotation of the seed', { tags: ['matrix'] }, () => {
  async function rotate(): Promise<void> {
    const { provider } = world.deposits;
    const seedRotation = await openSeeds(db, createSecrets('s'.repeat(32)));
    await rotateSeed({ db, provider, seedRotation }, { backedUp: await seedRotation.prepare() });
    await world.fillTanks();
  }

  /** What the old wallets hold goes to the new ones, as the service sees to every minute. */
  async function moveRetired(): Promise<void> {
    const { provider, ledger } = world.deposits;
    const { networks } = chains;
    await beginMoves({ db, networks, logger: log.logger });
    const sagas = createSagaRunner({
      db,
      logger: log.logger,
      handlers: [houseMoveHandler({ db, ledger, networks, provider })],
    });
    const { rows } = await db.query<{ id: string }>('SELECT id FROM house_moves WHERE finished_at IS NULL');
    for (const { id } of rows) await sagas.advance({ saga: 'house_move', id });
    await world.read();
    for (const { id } of rows) await sagas.advance({ saga: 'house_move', id });
  }

  test('in the middle of bridges, wherever they are: they still arrive', async () => {
    const bridges: { user: User; id: string }[] = [];
    // What the treasury has sent counts as promised until it is in the books: without more, the next one would wait.
    await world.newRich('MATIC', 10n * amount);
    for (const status of ['pending', 'approving', 'burning', 'waiting_attestation', 'minting'] as const) {
      const { user, id } = await begin();
      await world.goOn(id, status, world.step);
      // What this state asks for is sent, and not in the books yet.
      await world.step(id);
      bridges.push({ user, id });
    }
    // And one that has asked for nothing yet: whoever comes behind it in the line would wait for it.
    const untouched = await begin();
    await rotate();
    await moveRetired();
    expect(await world.differences()).toEqual(nothingDiffers);
    for (const { id } of bridges) await world.goOn(id, 'completed');
    // Now that the old treasury has nothing under way, what it holds goes to the new one.
    await moveRetired();
    for (const { user, id } of [...bridges, untouched]) await expectArrived(user, id);
    await moveRetired();
  });
});
