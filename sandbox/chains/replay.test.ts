import fc from 'fast-check';
import { type Hex, parseGwei } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { expect, test } from 'vitest';
import { mintAccount } from '../accounts.ts';
import { createEvmNode } from './evm-node.ts';
import { result } from './execute-entry.ts';
import type { JournalEntry } from './journal.ts';
import { type LocalChain, openLocalChain } from './local-chain.ts';

const genesisTime = 1_750_000_000;
const ada = privateKeyToAccount(`0x${'11'.repeat(32)}`);

/** A chain with an in-memory journal and a test clock. */
async function openChain(entries: JournalEntry[], clock: { seconds: number }): Promise<LocalChain> {
  async function* past() {
    yield [...entries];
  }
  return openLocalChain({
    id: 'MATIC',
    genesisTime,
    richAccount: mintAccount.address,
    past: past(),
    journal: { append: async (_, added) => void entries.push(...added) },
    clock: { now: () => clock.seconds * 1000 },
  });
}

async function ask<Result>(chain: LocalChain, method: string, params: readonly unknown[] = []): Promise<Result> {
  const outcome = await chain.request({ method, params });
  if ('error' in outcome) throw new Error(outcome.error.message);
  return outcome.result as Result;
}

/** Everything that a client can see: blocks, transactions, receipts, pending transactions and state. */
async function portrait(chain: LocalChain): Promise<unknown> {
  const head = Number(await ask<Hex>(chain, 'eth_blockNumber'));
  const blocks: unknown[] = [];
  for (let number = 0; number <= head; number++) {
    const block = await ask<{ transactions: { hash: Hex }[] }>(chain, 'eth_getBlockByNumber', [
      `0x${number.toString(16)}`,
      true,
    ]);
    const receipts = await Promise.all(
      block.transactions.map(({ hash }) => ask(chain, 'eth_getTransactionReceipt', [hash])),
    );
    blocks.push({ block, receipts });
  }
  return {
    blocks,
    waiting: await ask(chain, 'eth_pendingTransactions'),
    balance: await ask(chain, 'eth_getBalance', [ada.address, 'latest']),
    nonce: await ask(chain, 'eth_getTransactionCount', [ada.address, 'pending']),
    automine: await ask(chain, 'hardhat_getAutomine'),
  };
}

type Step =
  | { readonly do: 'send'; readonly nonce: number; readonly cheap: boolean }
  | { readonly do: 'read' | 'mine' | 'snapshot' | 'revert' | 'setBalance' | 'together' | 'setTime' }
  | { readonly do: 'wait' | 'increaseTime' | 'mineMany' | 'letTimePass'; readonly count: number }
  | { readonly do: 'automine'; readonly on: boolean };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('send' as const),
      nonce: fc.constantFrom(0, 0, 0, 1, 2, -1),
      cheap: fc.constantFrom(false, false, false, true),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom(
        'read' as const,
        'mine' as const,
        'snapshot' as const,
        'revert' as const,
        'setBalance' as const,
        'together' as const,
        'setTime' as const,
      ),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('wait' as const, 'increaseTime' as const, 'mineMany' as const, 'letTimePass' as const),
      count: fc.integer({ min: 1, max: 9 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('automine' as const), on: fc.boolean() }) },
);

test('a chain that is made again from its journal is the same to the last hash', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 15, maxLength: 40 }), async (steps) => {
      const entries: JournalEntry[] = [];
      const clock = { seconds: genesisTime + 100 };
      const chain = await openChain(entries, clock);
      await ask(chain, 'hardhat_setBalance', [ada.address, '0xde0b6b3a7640000']);
      let snapshot: Hex | undefined;
      let salt = 0;
      const send = async (ahead: number, cheap: boolean) => {
        const nonce = Number(await ask<Hex>(chain, 'eth_getTransactionCount', [ada.address, 'latest'])) + ahead;
        const raw = await ada.signTransaction({
          type: 'eip1559',
          chainId: 137,
          nonce: Math.max(0, nonce),
          to: mintAccount.address,
          value: BigInt(++salt),
          gas: 21_000n,
          maxFeePerGas: cheap ? 5n : parseGwei('2') + BigInt(salt) * parseGwei('1'),
          maxPriorityFeePerGas: cheap ? 5n : parseGwei('1') + BigInt(salt) * parseGwei('1'),
        });
        return chain.request({ method: 'eth_sendRawTransaction', params: [raw] });
      };
      for (const one of steps) {
        switch (one.do) {
          case 'send':
            await send(one.nonce, one.cheap);
            break;
          case 'together':
            await Promise.all([send(1, false), send(0, false), send(2, false)]);
            break;
          case 'read':
            await chain.request({ method: 'eth_call', params: [{ to: ada.address }, 'pending'] });
            await chain.request({ method: 'eth_estimateGas', params: [{ to: ada.address }] });
            await chain.request({ method: 'eth_getBlockByNumber', params: ['pending', true] });
            break;
          case 'mine':
            await ask(chain, 'evm_mine');
            break;
          case 'mineMany':
            await ask(chain, 'anvil_mine', [one.count, one.count % 2]);
            break;
          case 'snapshot':
            snapshot = await ask<Hex>(chain, 'evm_snapshot');
            break;
          case 'revert':
            await chain.request({ method: 'evm_revert', params: [snapshot ?? '0x1'] });
            break;
          case 'setBalance':
            await ask(chain, 'anvil_setBalance', [ada.address, '0xde0b6b3a7640000']);
            break;
          case 'setTime':
            await chain.request({ method: 'evm_setNextBlockTimestamp', params: [clock.seconds + 10_000] });
            break;
          case 'wait':
            clock.seconds += one.count;
            break;
          case 'increaseTime':
            await ask(chain, 'evm_increaseTime', [one.count]);
            break;
          case 'letTimePass':
            clock.seconds += one.count;
            await Promise.all([0, 1, 9].map((early) => ask(chain, 'sandbox_letTimePass', [clock.seconds - early])));
            break;
          case 'automine':
            await ask(chain, 'evm_setAutomine', [one.on]);
        }
      }
      const before = await portrait(chain);
      const again = await openChain(entries, { seconds: clock.seconds + 1_000_000 });
      expect(await portrait(again)).toEqual(before);
    }),
    { numRuns: 15 },
  );
});

test('what is mined next has the time of today, and what only looks sees it too', async () => {
  const entries: JournalEntry[] = [];
  await ask(await openChain(entries, { seconds: genesisTime + 100 }), 'evm_mine');
  const later = await openChain(entries, { seconds: Math.floor(Date.now() / 1000) });
  const time = async (tag: string) =>
    Number((await ask<{ timestamp: Hex }>(later, 'eth_getBlockByNumber', [tag, false])).timestamp);
  expect(await time('latest')).toBe(genesisTime + 100);
  expect(Math.abs((await time('pending')) - Date.now() / 1000)).toBeLessThan(30);
});

test('the node is not asked for what it does not have', async () => {
  const node = await createEvmNode({ chainId: 137, genesisTime, richAccount: mintAccount.address });
  expect(await result(node, 'eth_chainId')).toBe('0x89');
  await expect(result(node, 'eth_doesNotExist')).rejects.toThrow('eth_doesNotExist');
});
