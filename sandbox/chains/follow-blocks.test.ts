import { expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../../src/kernel/log/logger.ts';
import { mintAccount } from '../accounts.ts';
import type { AttestationService } from '../cctp/attestation-service.ts';
import { followBlocks } from './follow-blocks.ts';
import { openLocalChain } from './local-chain.ts';
import { startRpcServer } from './rpc-server.ts';

async function* noPast() {}

async function serveChain() {
  const chain = await openLocalChain({
    id: 'MATIC',
    genesisTime: 1_700_000_000,
    richAccount: mintAccount.address,
    past: noPast(),
    journal: { append: async () => {} },
    clock: { now: () => 1_700_000_100_000 },
  });
  const attestations = {} as AttestationService;
  const chains = new Map([['MATIC', chain] as const]);
  const server = await startRpcServer({ chains, attestations, port: 0, logger: createLogger('silent') });
  onTestFinished(() => server.stop());
  return { chain, server, url: `http://127.0.0.1:${server.port}/matic` };
}

/** Counts calls and lets a test wait for the next one. */
function createBell() {
  let rings = 0;
  let heard = () => {};
  return {
    ring() {
      rings++;
      heard();
    },
    get rings() {
      return rings;
    },
    next: () =>
      new Promise<void>((resolve) => {
        heard = resolve;
      }),
  };
}

test('everybody who listens hears of a block, and of no other call', async () => {
  const { chain, url } = await serveChain();
  const follower = followBlocks(url);
  onTestFinished(() => follower.stop());
  const [one, other] = [createBell(), createBell()];
  const beginning = one.next();
  follower.onBlock(one.ring);
  const others = follower.onBlock(other.ring);
  // The first response is the current block.
  await beginning;
  expect([one.rings, other.rings]).toEqual([1, 1]);

  const mined = one.next();
  await chain.request({ method: 'hardhat_setBalance', params: [mintAccount.address, '0x1'] });
  expect(one.rings).toBe(1);
  await chain.request({ method: 'evm_mine', params: [] });
  await mined;
  expect([one.rings, other.rings]).toEqual([2, 2]);

  others.stop();
  const again = one.next();
  await chain.request({ method: 'evm_mine', params: [] });
  await again;
  expect([one.rings, other.rings]).toEqual([3, 2]);
});

test('the newest block is known while the chain would tell of the next', async () => {
  const { chain, server, url } = await serveChain();
  const follower = followBlocks(url);
  onTestFinished(() => follower.stop());
  const bell = createBell();
  const beginning = bell.next();
  const blocks = follower.onBlock(bell.ring);
  expect(blocks.newestBlock()).toBeUndefined();
  await beginning;
  expect(blocks.newestBlock()).toBe(0n);
  const mined = bell.next();
  await chain.request({ method: 'evm_mine', params: [] });
  await mined;
  expect(blocks.newestBlock()).toBe(1n);
  await server.stop();
  await expect.poll(() => blocks.newestBlock()).toBeUndefined();
});

test('a block that is mined between two questions is answered at once', async () => {
  const { chain } = await serveChain();
  await chain.request({ method: 'evm_mine', params: [] });
  const asked = { method: 'sandbox_awaitBlock', params: ['0x0'] };
  expect(await chain.request(asked)).toEqual({ result: '0x1' });
});
