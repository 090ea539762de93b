import { type Hex, parseSignature } from 'viem';
import { describe, expect, test } from 'vitest';
import { startLocalChains } from '../../../sandbox/chains/local-chains.ts';
import { tokenAbi } from '../../../src/chains/abi.ts';
import { fateOf, readTokenDomain, readUsed, toTypedData } from '../../../src/chains/authorization.ts';
import { createNetworks, tokenOf } from '../../../src/chains/network.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import type { ChainId } from '../../../src/money/catalogue.ts';
import { useChains } from '../../support/chains.ts';
import { useDatabase } from '../../support/database.ts';
import { until } from '../../support/until.ts';

const database = useDatabase();
const chains = useChains(database);

const latest = (chain: ChainId) => chains.network(chain).client.getBlock({ blockTag: 'latest' });

/** What is written down of all chains, by chain. */
async function journals(): Promise<Record<string, number>> {
  const { rows } = await database.db.query<{ chain: string; count: number }>(
    'SELECT chain, count(*)::int AS count FROM sandbox.chain_journal GROUP BY chain',
  );
  return Object.fromEntries(rows.map(({ chain, count }) => [chain, count]));
}

describe('a chain on which nothing is sent', () => {
  test('stays still until a time has come that somebody waits for', async () => {
    const before = await journals();
    const { number, timestamp } = await latest('BASE');
    await chains.network('BASE').letTimePass(timestamp + 1_000_000n);
    await chains.network('BASE').letTimePass(timestamp);
    expect(await journals()).toEqual(before);
    expect((await latest('BASE')).number).toBe(number);
  });

  test('mines one empty block then, however many wait and however often they look', async () => {
    await chains.rpc('BASE', 'evm_increaseTime', [1_000]);
    const before = await journals();
    const { number, timestamp } = await latest('BASE');
    const wait = () => chains.network('BASE').letTimePass(timestamp + 500n);
    await Promise.all(Array.from({ length: 20 }, wait));
    await wait();
    const mined = await latest('BASE');
    expect(mined.number).toBe(number + 1n);
    expect(mined.timestamp).toBeGreaterThanOrEqual(timestamp + 500n);
    expect(mined.transactions).toEqual([]);
    expect(await journals()).toEqual({ ...before, BASE: (before.BASE ?? 0) + 1 });
  });

  test('mines none when what is sent brings the time along', async () => {
    await chains.rpc('BASE', 'evm_increaseTime', [1_000]);
    const { number, timestamp } = await latest('BASE');
    await chains.mint('BASE', 'USDC', `0x${'77'.repeat(20)}`, 1n);
    await chains.network('BASE').letTimePass(timestamp + 500n);
    expect((await latest('BASE')).number).toBe(number + 1n);
  });

  test('mines again for a time that was put back', async () => {
    const snapshot = await chains.rpc('OP', 'evm_snapshot');
    const { number, timestamp } = await latest('OP');
    await chains.rpc('OP', 'evm_increaseTime', [1_000]);
    await chains.network('OP').letTimePass(timestamp + 500n);
    expect((await latest('OP')).number).toBe(number + 1n);
    await chains.rpc('OP', 'evm_revert', [snapshot]);
    expect((await latest('OP')).number).toBe(number);
    await chains.network('OP').letTimePass(timestamp + 500n);
    expect((await latest('OP')).timestamp).toBeGreaterThanOrEqual(timestamp + 500n);
  });

  test('leaves the next block to whoever decides about it', async () => {
    const { number, timestamp } = await latest('AVAX');
    await chains.rpc('AVAX', 'evm_setAutomine', [false]);
    await chains.rpc('AVAX', 'evm_increaseTime', [1_000]);
    await chains.network('AVAX').letTimePass(timestamp + 500n);
    expect((await latest('AVAX')).number).toBe(number);
    await chains.rpc('AVAX', 'evm_setAutomine', [true]);
    await chains.rpc('AVAX', 'evm_setNextBlockTimestamp', [Number(timestamp) + 2_000]);
    await chains.network('AVAX').letTimePass(timestamp + 500n);
    expect((await latest('AVAX')).number).toBe(number);
  });

  test('refuses what is no time', async () => {
    await expect(chains.rpc('BASE', 'sandbox_letTimePass', ['soon'])).rejects.toThrow('quantity');
  });
});

test('EIP-3009: an authorization lapses on a chain on which nothing is sent', async () => {
  const ada = await chains.outsider({ tokens: [{ asset: 'USDC', atomic: 10n }] });
  const network = chains.network('MATIC');
  const token = tokenOf(network, 'USDC')?.address ?? '0x';
  const authorization = {
    from: ada.address,
    to: `0x${'88'.repeat(20)}` as Hex,
    atomic: 10n,
    nonce: `0x${'02'.repeat(32)}` as Hex,
    validBefore: BigInt(Math.floor(Date.now() / 1000) + 3),
  };
  const typedData = toTypedData(await readTokenDomain(network, token), authorization);
  const signature = await ada.wallet().signTypedData({ ...typedData, account: ada.account });
  async function fate() {
    const { number, timestamp } = await latest('MATIC');
    const [used] = await readUsed(network, token, [authorization], number);
    return fateOf(authorization, { used: used === true, blockTime: timestamp });
  }

  await until('the time by the clock', async () => Date.now() / 1000 > Number(authorization.validBefore));
  expect(await fate()).toBe('open');
  const { number } = await latest('MATIC');
  await network.letTimePass(authorization.validBefore);
  expect(await fate()).toBe('lapsed');
  expect((await latest('MATIC')).number).toBe(number + 1n);

  const { r, s, yParity } = parseSignature(signature);
  const { from, to, atomic, validBefore, nonce } = authorization;
  const late = network.client.simulateContract({
    abi: tokenAbi,
    address: token,
    functionName: 'transferWithAuthorization',
    args: [from, to, atomic, 0n, validBefore, nonce, yParity + 27, r, s],
    account: from,
  });
  await expect(late).rejects.toThrow('authorization is expired');
});

test('after a restart every block that was mined for a time is the same, and none is added', async () => {
  const ids = ['BASE', 'OP', 'MATIC'] as const;
  const before = await Promise.all(ids.map(latest));
  const written = await journals();
  await chains.stop();
  const local = await startLocalChains({ db: database.db, logger: createLogger('silent') });
  try {
    const networks = createNetworks(local.settings);
    for (const [index, id] of ids.entries()) {
      const network = networks.get(id);
      const known = before[index];
      expect(await network?.client.getBlock({ blockTag: 'latest' })).toEqual(known);
      await network?.letTimePass(known?.timestamp ?? 0n);
    }
    expect(await journals()).toEqual(written);
  } finally {
    await local.stop();
  }
});

test('a real chain is not even asked', async () => {
  const nowhere = { urls: ['http://127.0.0.1:1'], confirmations: 1, pollMs: 1_000 };
  const network = createNetworks(new Map([['MATIC', nowhere]])).get('MATIC');
  await expect(network?.client.getBlockNumber()).rejects.toThrow();
  await expect(network?.letTimePass(1n)).resolves.toBeUndefined();
});
