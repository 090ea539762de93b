import type { PublicClient } from 'viem';
import { expect, it } from 'vitest';
import { createNetworks, type Network } from '../../../chains/network.ts';
import { bumpFees, createFeeBook } from './gas-fees.ts';

/** A chain whose base fee grows by one with each question. */
function chainThatCounts(pollMs: number) {
  const asked = { times: 0, isSilent: false };
  const [network] = createNetworks(
    new Map([['MATIC', { urls: ['http://127.0.0.1:1'], confirmations: 1, pollMs }]]),
  ).values();
  const client = {
    async getBlock() {
      asked.times += 1;
      if (asked.isSilent) throw new Error('silent');
      return { baseFeePerGas: BigInt(asked.times) };
    },
    estimateMaxPriorityFeePerGas: async () => 1n,
  } as unknown as PublicClient;
  return { asked, network: { ...(network as Network), client } };
}

it('asks a chain once for all who sign at about the same time', async () => {
  const { asked, network } = chainThatCounts(250);
  const clock = { at: 0, now: () => clock.at };
  const feesOn = createFeeBook(clock);
  const both = await Promise.all([feesOn(network), feesOn(network)]);
  expect(both).toEqual([
    { maxFee: 3n, priorityFee: 1n },
    { maxFee: 3n, priorityFee: 1n },
  ]);
  clock.at = 249;
  expect(await feesOn(network)).toEqual(both[0]);
  expect(asked.times).toBe(1);
  clock.at = 250;
  expect(await feesOn(network)).toEqual({ maxFee: 5n, priorityFee: 1n });
});

it('keeps nothing for longer than a second, however rarely the chain is looked at', async () => {
  const { asked, network } = chainThatCounts(60_000);
  const clock = { at: 0, now: () => clock.at };
  const feesOn = createFeeBook(clock);
  await feesOn(network);
  clock.at = 1_000;
  await feesOn(network);
  expect(asked.times).toBe(2);
});

it('does not keep a failure', async () => {
  const { asked, network } = chainThatCounts(250);
  const feesOn = createFeeBook({ now: () => 0 });
  asked.isSilent = true;
  await expect(feesOn(network)).rejects.toThrow('silent');
  asked.isSilent = false;
  expect(await feesOn(network)).toEqual({ maxFee: 5n, priorityFee: 1n });
});

it('raises both fees by an eighth, up to the ceiling and no further', () => {
  const ceiling = { maxFee: 1_000n, priorityFee: 100n, gasLimit: 1n };
  const cheap = { maxFee: 1n, priorityFee: 1n };
  expect(bumpFees({ maxFee: 800n, priorityFee: 8n }, cheap, ceiling)).toEqual({ maxFee: 901n, priorityFee: 10n });
  expect(bumpFees({ maxFee: 900n, priorityFee: 8n }, cheap, ceiling)).toBeUndefined();
  expect(bumpFees({ maxFee: 80n, priorityFee: 90n }, cheap, ceiling)).toBeUndefined();
});
