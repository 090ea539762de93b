import { encodeFunctionData, type Hex, zeroAddress } from 'viem';
import { beforeEach, describe, expect, test } from 'vitest';
import { multicallAbi, multicallAddress, tokenAbi } from '../../../../src/chains/abi.ts';
import { tokenOf } from '../../../../src/chains/network.ts';
import { beginChains, WrongChain } from '../../../../src/custody/watch/chain-cursor.ts';
import { UnknownChain } from '../../../../src/custody/watch/reorg.ts';
import { Refusal } from '../../../../src/kernel/refusal.ts';
import { type ChainId, chains as facts } from '../../../../src/money/catalogue.ts';
import type { ChainReader } from '../../../../src/payments/deposits/read-chain.ts';
import type { Outsider } from '../../../support/chains.ts';
import { readUp, type User, useDepositWorld } from '../../../support/deposits.ts';
import { startUnrulyRpc } from '../../../support/unruly-rpc.ts';

const confirmations = 3;
const world = useDepositWorld({ confirmations });
const { chains } = world;
const { db } = world.database;
const chain: ChainId = 'MATIC';

let user: User;
let ada: Outsider;
let reader: ChainReader;

beforeEach(async () => {
  user = await world.newUser();
  ada = await chains.outsider({ tokens: [{ asset: 'USDC', atomic: 1_000n }] });
  await chains.mine(chain, confirmations);
  reader = world.reader(chain);
  await readUp(reader);
  world.log.clear();
  return () => reader.release();
});

/** A signed transfer that can be sent on either branch of the chain. */
function signTransfer(atomic: bigint, nonce: number, to: Hex = user.address): Promise<Hex> {
  const data = encodeFunctionData({ abi: tokenAbi, functionName: 'transfer', args: [to, atomic] });
  return sign({ to: facts[chain].tokens.USDC, data, nonce });
}

function sign({ to, data, nonce }: { readonly to: Hex; readonly data: Hex; readonly nonce: number }): Promise<Hex> {
  return ada.wallet().signTransaction({
    account: ada.account,
    chain: chains.network(chain).client.chain ?? null,
    to,
    data,
    nonce,
    gas: 400_000n,
    maxFeePerGas: 10n ** 11n,
    maxPriorityFeePerGas: 10n ** 9n,
    type: 'eip1559',
  });
}

const send = (raw: Hex) => chains.rpc<Hex>(chain, 'eth_sendRawTransaction', [raw]);
const snapshot = () => chains.rpc<Hex>(chain, 'evm_snapshot');

/** Undoes everything since the snapshot. The blocks of the new branch differ from the old ones by their time. */
async function turnBack(id: Hex): Promise<void> {
  expect(await chains.rpc(chain, 'evm_revert', [id])).toBe(true);
  await chains.rpc(chain, 'evm_increaseTime', [7]);
}

const errors = () => world.log.lines('error');

async function lost(hash: Hex): Promise<boolean> {
  const { rows } = await db.query<{ lost: boolean }>(
    'SELECT vanished_at IS NOT NULL AS lost FROM deposits WHERE tx_hash = $1',
    [hash],
  );
  expect(rows).toHaveLength(1);
  return rows[0]?.lost ?? false;
}

test('what is undone before it is confirmed is never credited, and nobody is alarmed', async () => {
  const before = await snapshot();
  await send(await signTransfer(50n, 0));
  await chains.mine(chain, confirmations - 2);
  await readUp(reader);
  await turnBack(before);
  await chains.mine(chain, confirmations * 2);
  await readUp(reader);
  expect(await world.balance(user)).toBe(0n);
  expect(errors()).toEqual([]);
});

describe('a reorganisation that is deeper than the confirmations', () => {
  test('credits a transaction that moved to another block only once', async () => {
    const raw = await signTransfer(50n, 0);
    const before = await snapshot();
    const hash = await send(raw);
    await chains.mine(chain, confirmations);
    await readUp(reader);
    expect(await world.balance(user)).toBe(50n);

    await turnBack(before);
    await chains.mine(chain, 4);
    expect(await send(raw)).toBe(hash);
    await chains.mine(chain, confirmations);
    await readUp(reader);
    expect(await world.balance(user)).toBe(50n);
    const { blockNumber } = await chains.network(chain).client.getTransactionReceipt({ hash });
    const { rows } = await db.query('SELECT block_number FROM deposits WHERE tx_hash = $1', [hash]);
    expect(rows).toEqual([{ blockNumber: blockNumber }]);
    expect(errors()).toEqual([expect.objectContaining({ chain, depth: expect.any(Number) })]);
  });

  test('credits what is new on the other branch', async () => {
    const before = await snapshot();
    await chains.mine(chain, confirmations + 2);
    await readUp(reader);
    await turnBack(before);
    await send(await signTransfer(60n, 0));
    await chains.mine(chain, confirmations + 2);
    await readUp(reader);
    expect(await world.balance(user)).toBe(60n);
  });

  test('names what was credited and is gone', async () => {
    const before = await snapshot();
    const hash = await send(await signTransfer(50n, 0));
    await chains.mine(chain, confirmations);
    await readUp(reader);
    await turnBack(before);
    await send(await signTransfer(70n, 0));
    await chains.mine(chain, confirmations + 1);
    await readUp(reader);
    expect(await world.balance(user)).toBe(120n);
    expect(errors()).toEqual([
      expect.objectContaining({ depth: expect.any(Number) }),
      expect.objectContaining({ txHash: hash, deposit: expect.stringMatching(/^dep_/) }),
    ]);
  });

  test('names what is on the chain and has failed: a receipt alone is no proof', async () => {
    const before = await snapshot();
    const raw = await signTransfer(900n, 1);
    await send(await signTransfer(1n, 0, ada.address));
    const hash = await send(raw);
    await chains.mine(chain, confirmations);
    await readUp(reader);
    expect(await world.balance(user)).toBe(900n);

    // On the other branch the money is gone before: the same transaction is mined, and undone.
    await turnBack(before);
    await send(await signTransfer(500n, 0, '0x00000000000000000000000000000000000b0b00'));
    await chains.rpc(chain, 'eth_sendRawTransaction', [raw]).catch(() => {});
    await chains.mine(chain, confirmations + 3);
    const { status } = await chains.network(chain).client.getTransactionReceipt({ hash });
    expect(status).toBe('reverted');
    await readUp(reader);
    expect(errors()).toContainEqual(expect.objectContaining({ txHash: hash, deposit: expect.stringMatching(/^dep_/) }));
    expect(await lost(hash)).toBe(true);
  });

  test('credits a transfer once that has another place among the logs of its transaction now', async () => {
    const euro = tokenOf(chains.network(chain), 'EURC')?.address ?? zeroAddress;
    await chains.mint(chain, 'USDC', multicallAddress, 50n);
    await chains.mine(chain, confirmations);
    await readUp(reader);
    const pay = (target: Hex, to: Hex, atomic: bigint) => ({
      target,
      allowFailure: true,
      callData: encodeFunctionData({ abi: tokenAbi, functionName: 'transfer', args: [to, atomic] }),
    });
    const calls = [pay(euro, ada.address, 5n), pay(facts[chain].tokens.USDC, user.address, 50n)];
    const data = encodeFunctionData({ abi: multicallAbi, functionName: 'aggregate3', args: [calls] });
    const raw = await sign({ to: multicallAddress, data, nonce: 0 });
    const before = await snapshot();
    const hash = await send(raw);
    await chains.mine(chain, confirmations);
    await readUp(reader);
    expect(await world.balance(user)).toBe(50n);

    // On the other branch the first call succeeds as well, and logs before the transfer.
    await turnBack(before);
    await chains.mint(chain, 'EURC', multicallAddress, 5n);
    expect(await send(raw)).toBe(hash);
    await chains.mine(chain, confirmations + 2);
    const { logs } = await chains.network(chain).client.getTransactionReceipt({ hash });
    expect(logs).toHaveLength(2);
    await readUp(reader);
    expect(await world.balance(user)).toBe(50n);
    expect(await lost(hash)).toBe(false);
    expect(errors()).toContainEqual(expect.objectContaining({ txHash: hash, position: 1, was: 0 }));
    // Nor by whoever reads the blocks anew.
    await reader.release();
    reader = world.reader(chain);
    await readUp(reader);
    expect(await world.balance(user)).toBe(50n);
  });

  test('lists what was still there when it was noticed, and has gone before it was final', async () => {
    const raw = await signTransfer(50n, 0);
    const before = await snapshot();
    await send(raw);
    await chains.mine(chain, confirmations);
    await readUp(reader);
    await turnBack(before);
    const middle = await snapshot();
    const hash = await send(raw);
    await chains.mine(chain, confirmations + 1);
    // The reorganisation is noticed, and its blocks are not read again yet.
    await reader.step();
    expect(errors()).toEqual([expect.objectContaining({ depth: expect.any(Number) })]);
    await turnBack(middle);
    await send(await signTransfer(1n, 0, ada.address));
    await chains.mine(chain, confirmations + 4);
    await readUp(reader);
    expect(await lost(hash)).toBe(true);
  });

  test('is found over many steps, by a process that has just started', async () => {
    const before = await snapshot();
    for (let step = 0; step < 12; step++) {
      await chains.mine(chain, 2);
      await readUp(reader);
    }
    await reader.release();
    await turnBack(before);
    await send(await signTransfer(80n, 0));
    await chains.mine(chain, 30);
    reader = world.reader(chain);
    await readUp(reader);
    expect(await world.balance(user)).toBe(80n);
    // The first two of the 24 blocks confirmed what both branches share, and the last two are not confirmed.
    expect(errors()).toEqual([expect.objectContaining({ depth: 22 })]);
  });
});

test('a node that lags behind is waited for', async () => {
  const before = await snapshot();
  await chains.mine(chain, 10);
  await readUp(reader);
  await turnBack(before);
  await send(await signTransfer(90n, 0));
  await chains.mine(chain, confirmations);
  expect(await reader.step()).toBe('no_block');
  expect(errors()).toEqual([]);
  await chains.mine(chain, 10);
  await readUp(reader);
  expect(await world.balance(user)).toBe(90n);
});

test('a node that answers for another chain with the same number is not believed', async () => {
  const rpc = await startUnrulyRpc(chain, settingsOf());
  const other = world.reader(chain, { network: rpc.network });
  await reader.release();
  await send(await signTransfer(50n, 0));
  await chains.mine(chain, confirmations);
  const zero = `0x${'00'.repeat(32)}`;
  const { client } = chains.network(chain);
  const block = await client.request({ method: 'eth_getBlockByNumber', params: ['latest', false] });
  rpc.misbehave(({ method, params }) =>
    method === 'eth_getBlockByNumber' ? { result: { ...block, number: params[0], hash: zero } } : undefined,
  );
  await expect(readUp(other)).rejects.toThrow(UnknownChain);
  expect(await world.balance(user)).toBe(0n);
  rpc.misbehave(() => undefined);
  await readUp(other);
  expect(await world.balance(user)).toBe(50n);
  await other.release();
});

test('a node of another chain is not read', async () => {
  const rpc = await startUnrulyRpc(chain, settingsOf());
  rpc.misbehave(({ method }) => (method === 'eth_chainId' ? { result: '0x1' } : undefined));
  await reader.release();
  await expect(world.reader(chain, { network: rpc.network }).step()).rejects.toThrow(WrongChain);
  const networks = new Map([[chain, rpc.network]]);
  await beginChains(db, networks);
  await db.query('DELETE FROM chain_cursors WHERE chain = $1', [chain]);
  await db.query('DELETE FROM chain_checkpoints WHERE chain = $1', [chain]);
  await expect(beginChains(db, networks)).rejects.toThrow(Refusal);
  rpc.misbehave(() => undefined);
  await beginChains(db, networks);
  await send(await signTransfer(50n, 0));
  await chains.mine(chain, confirmations);
  await readUp(reader);
  expect(await world.balance(user)).toBe(50n);
});

test('a log that its transaction knows nothing of is not credited', async () => {
  const rpc = await startUnrulyRpc(chain, settingsOf());
  const other = world.reader(chain, { network: rpc.network });
  await reader.release();
  const hash = await send(await signTransfer(50n, 0));
  await chains.mine(chain, confirmations);
  const { client } = chains.network(chain);
  const receipt = await client.request({ method: 'eth_getTransactionReceipt', params: [hash] });
  if (receipt === null) throw new Error('it was not mined');
  for (const lie of [
    { ...receipt, logs: [] },
    { ...receipt, status: '0x0' },
    { ...receipt, blockHash: `0x${'11'.repeat(32)}` },
    null,
  ]) {
    rpc.misbehave(({ method }) => (method === 'eth_getTransactionReceipt' ? { result: lie } : undefined));
    await expect(readUp(other)).rejects.toThrow();
    expect(await world.balance(user)).toBe(0n);
  }
  rpc.misbehave(({ method }) =>
    method === 'eth_getLogs' ? { result: receipt.logs.map((log) => ({ ...log, removed: true })) } : undefined,
  );
  await readUp(other);
  expect(await world.balance(user)).toBe(0n);
  // The blocks were read without it. They are read once more with the next ones.
  rpc.misbehave(() => undefined);
  await chains.mine(chain, 1);
  await readUp(other);
  expect(await world.balance(user)).toBe(50n);
  await other.release();
});

function settingsOf() {
  const settings = chains.local.settings.get(chain);
  if (settings === undefined) throw new Error(`${chain} is not running`);
  return { ...settings, confirmations };
}
