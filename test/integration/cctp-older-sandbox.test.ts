import type { Hex } from 'viem';
import { afterAll, expect, test } from 'vitest';
import { cctp } from '../../src/chains/cctp.ts';
import { type ChainId, chainIds } from '../../src/chains/chains.ts';
import { mintAccount } from '../../src/sandbox/chains/mint-account.ts';
import { useProtocol } from '../support/cctp.ts';
import { startChains, type TestChains } from '../support/chains.ts';
import { useDatabase } from '../support/database.ts';

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
async function forgetProtocol(): Promise<number> {
  const { rowCount } = await database.db.query(
    `WITH placed AS (
       SELECT chain, min(seq) AS first FROM sandbox.chain_journal WHERE params ILIKE '%' || $1 || '%' GROUP BY chain
     ), followed AS (
       SELECT placed.chain, first, min(seq) AS next
       FROM placed JOIN sandbox.chain_journal j ON j.chain = placed.chain
         AND j.seq > placed.first AND j.method = 'hardhat_stopImpersonatingAccount'
       GROUP BY placed.chain, first
     )
     DELETE FROM sandbox.chain_journal j USING followed f
     WHERE j.chain = f.chain AND j.seq >= f.first AND j.seq < f.next`,
    [cctp.messageTransmitter],
  );
  // The numbers of a journal have no gaps. They are moved out of the way first, because each is there once.
  await database.db.query('UPDATE sandbox.chain_journal SET seq = -seq - 1');
  await database.db.query(
    `UPDATE sandbox.chain_journal j SET seq = numbered.seq
     FROM (SELECT chain, seq AS old, row_number() OVER (PARTITION BY chain ORDER BY seq DESC) - 1 AS seq
           FROM sandbox.chain_journal) AS numbered
     WHERE numbered.chain = j.chain AND numbered.old = j.seq`,
  );
  return rowCount ?? 0;
}

async function journalLength(): Promise<bigint> {
  const { rows } = await database.db.query<{ count: bigint }>('SELECT count(*) FROM sandbox.chain_journal');
  return rows[0]?.count ?? 0n;
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

  const length = await journalLength();
  const again = await restart();
  expect(await again.balanceOf('BASE', 'USDC', recipient)).toBe(75n);
  expect(await journalLength()).toBe(length);
  await expect(useProtocol(again).mint(ada, 'BASE', attested)).rejects.toThrow('Nonce already used');
});
