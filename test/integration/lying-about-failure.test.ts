import { randomUUID } from 'node:crypto';
import { toHex } from 'viem';
import { expect, test } from 'vitest';
import { homeChain } from '../../src/chains/chains.ts';
import { createKeysProvider } from '../../src/providers/keys/keys-provider.ts';
import { createSecrets } from '../../src/secrets.ts';
import { houseWallet } from '../../src/wallets/house-wallets.ts';
import { usdcOn } from '../support/arrivals.ts';
import { useDepositWorld } from '../support/deposits.ts';
import { networkOf, startNode } from '../support/lying-node.ts';

const world = useDepositWorld({ pollMs: 10 });
const { chains, database } = world;
const { db } = database;

test('a payment that was made is not given back because one node says that it was undone', async () => {
  const [liar, honest] = [await startNode(chains, homeChain, 2), await startNode(chains, homeChain, 3)];
  const network = networkOf(chains, homeChain, [liar.url, honest.url]);
  const provider = await createKeysProvider({
    db,
    networks: new Map([[homeChain, network]]),
    logger: world.log.logger,
    secrets: createSecrets('s'.repeat(32)),
  });
  const treasury = await houseWallet(db, 'treasury', homeChain);
  await chains.rpc(homeChain, 'hardhat_setBalance', [treasury.address, toHex(10n ** 20n)]);
  await chains.mint(homeChain, 'USDC', treasury.address, 500n);
  const { address: to } = await chains.outsider();
  liar.misbehave(({ method }) =>
    method === 'eth_getTransactionReceipt'
      ? (receipt: object | null) => receipt && { ...receipt, status: '0x0', logs: [] }
      : undefined,
  );
  const ref = await provider.sendToken({
    from: treasury,
    token: usdcOn(chains),
    to,
    atomic: 500n,
    idempotencyKey: randomUUID(),
  });
  expect(await chains.balanceOf(homeChain, 'USDC', to)).toBe(500n);
  expect((await provider.lookUp(homeChain, ref)).state).toBe('pending');
  honest.misbehave(() => 'down');
  expect((await provider.lookUp(homeChain, ref)).state).toBe('pending');
  liar.misbehave(() => undefined);
  expect((await provider.lookUp(homeChain, ref)).state).toBe('confirmed');
});
