import type { Hex } from 'viem';
import { afterAll, expect, test } from 'vitest';
import { cctp } from '../../src/chains/cctp.ts';
import { type ChainId, chainIds } from '../../src/money/catalogue.ts';
import { mintAccount } from '../../src/sandbox/chains/mint-account.ts';
import { useProtocol } from '../support/cctp.ts';
import { startChains, type TestChains } from '../support/chains.ts';
import { useDatabase } from '../support/database.ts';
import { forgetEntries, journalLength } from '../support/older-journal.ts';

const database = useDatabase();
const recipient: Hex = '0x00000000000000000000000000000000000000aa';

let running: TestChains | undefined;
afterAll(() => running?.stop());

async function restart(): Promise<TestChains> {
  await running?.stop();
  running = await startChains(database);
  return running;
}

/** Takes from every journal what put the protocol in place, so that it is one from before there was any. */
function forgetProtocol(): Promise<number> {
  return forgetEntries(
    database.db,
    `(chain, seq) IN (
       WITH placed AS (
         SELECT chain, min(seq) AS first FROM sandbox.chain_journal WHERE params ILIKE '%' || $1 || '%' GROUP BY chain
       ), followed AS (
         SELECT placed.chain, first, min(seq) AS next
         FROM placed JOIN sandbox.chain_journal j ON j.chain = placed.chain
           AND j.seq > placed.first AND j.method = 'hardhat_stopImpersonatingAccount'
         GROUP BY placed.chain, first
       )
       SELECT j.chain, j.seq FROM sandbox.chain_journal j JOIN followed f ON j.chain = f.chain
       WHERE j.seq >= f.first AND j.seq < f.next
     )`,
    [cctp.messageTransmitter],
  );
}

test('a sandbox from before the protocol has it after the next start, and loses nothing', async () => {
  const before = await restart();
  const ada = await before.outsider({
    chains: ['ETH', 'BASE'],
    tokens: [{ chain: 'ETH', asset: 'USDC', atomic: 70n }],
  });
  await before.mint('BASE', 'USDC', recipient, 5n);
  // A chain that mines nothing at the moment gets it too.
  await before.rpc('ARB', 'evm_setAutomine', [false]);
  const look = async (chains: TestChains, chain: ChainId) => ({
    head: await chains.rpc(chain, 'eth_blockNumber'),
    sent: await chains.rpc(chain, 'eth_getTransactionCount', [mintAccount.address, 'pending']),
  });
  const looked = await Promise.all(chainIds.map((chain) => look(before, chain)));
  await before.stop();
  running = undefined;
  expect(await forgetProtocol()).toBeGreaterThan(chainIds.length * 30);

  const after = await restart();
  // No block and no nonce was taken: a mint that was signed before can still be sent.
  expect(await Promise.all(chainIds.map((chain) => look(after, chain)))).toEqual(looked);
  for (const chain of chainIds) {
    for (const address of Object.values(cctp)) {
      expect(await after.rpc<Hex>(chain, 'eth_getCode', [address, 'latest'])).not.toBe('0x');
    }
  }
  const protocol = useProtocol(after);
  const burn = { from: 'ETH', to: 'BASE', atomic: 70n, recipient } as const;
  const [attested] = await protocol.attested('ETH', await protocol.burn(ada, burn));
  if (attested === undefined) throw new Error('nothing was attested');
  await protocol.mint(ada, 'BASE', attested);
  expect(await after.balanceOf('BASE', 'USDC', recipient)).toBe(75n);

  const length = await journalLength(database.db);
  const again = await restart();
  expect(await again.balanceOf('BASE', 'USDC', recipient)).toBe(75n);
  expect(await journalLength(database.db)).toBe(length);
  await expect(useProtocol(again).mint(ada, 'BASE', attested)).rejects.toThrow('Nonce already used');
});
