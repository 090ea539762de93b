import { randomUUID } from 'node:crypto';
import { Command } from 'commander';
import { parseEther, toHex } from 'viem';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import { beforeAll, describe, expect, test } from 'vitest';
import { connectLocalChains, type LocalChains } from '../../../../sandbox/chains/local-chains.ts';
import { fillGas } from '../../../../sandbox/fill-gas.ts';
import { sandboxFloat } from '../../../../sandbox/fund-house-wallets.ts';
import { openCommandParts } from '../../../../src/app/custody.ts';
import { readSettings } from '../../../../src/app/read-settings.ts';
import type { Networks } from '../../../../src/chains/network.ts';
import { addTreasuryCommands } from '../../../../src/custody/treasury/commands.ts';
import { beginMoves } from '../../../../src/custody/treasury/move-retired.ts';
import { houseWallet, listHouseWallets } from '../../../../src/custody/wallets/house-wallets.ts';
import { createLogger } from '../../../../src/kernel/log/logger.ts';
import { userAccount } from '../../../../src/ledger/account-id.ts';
import { houseBalance } from '../../../../src/ledger/balances.ts';
import { openClaimant } from '../../../../src/ledger/claimants.ts';
import { createLedger } from '../../../../src/ledger/ledger.ts';
import { verifyLedger } from '../../../../src/ledger/verify.ts';
import { amountOf } from '../../../../src/money/amount.ts';
import type { ChainId } from '../../../../src/money/catalogue.ts';
import { addFeeCommand, addWithdrawalCommands } from '../../../../src/payments/withdrawals/commands.ts';
import { useService } from '../../../support/service.ts';
import { until } from '../../../support/until.ts';

const service = useService();
const { db, url } = service.database;
let local: LocalChains;
beforeAll(async () => {
  local = await connectLocalChains({ db });
});

/** Runs a command as the operator would, beside the running service. */
async function paywright(...args: string[]): Promise<string> {
  const lines: string[] = [];
  const config = readSettings({ DATABASE_URL: url });
  const { parts, close } = await openCommandParts({ config, logger: createLogger('silent'), url, db });
  const program = new Command('paywright').exitOverride();
  const say = (line: string) => void lines.push(line);
  addTreasuryCommands(program, (work) => work(parts), say);
  addFeeCommand(program, { withMoney: (work) => work(parts), say });
  addWithdrawalCommands(program, { withMoney: (work) => work(parts), say, operator: 'olga' });
  try {
    await program.parseAsync(['node', 'paywright', ...args]);
  } finally {
    await close();
  }
  return lines.join('\n');
}

async function funded(amount: number) {
  const account = await service.client.register();
  expect((await service.client.post('/sandbox/fund', { amount }, account.key)).status).toBe(200);
  return account;
}

const mint = (asset: 'USDC' | 'EURC' | 'MATIC', to: `0x${string}`, atomic: bigint) =>
  local.faucet.mint({ id: randomUUID(), chain: 'MATIC', asset, to, atomic });

async function expectNoDifference(): Promise<void> {
  // A report may be from before what has just happened.
  const asked = Date.now();
  const body = await until('a new report', async () => {
    const reply = await service.client.get('/reserves');
    return Date.parse(reply.body.at) >= asked && reply.body;
  });
  const off = body.reserves.filter((row: { difference: string }) => row.difference !== '0');
  expect(off).toEqual([]);
  expect(body.reserves.length).toBeGreaterThan(5);
}

test('shows every house wallet, its gas, and what was earned', async () => {
  const [ada, grace] = [await funded(100), await service.client.register()];
  await service.client.post('/agent/transfer', { to: grace.handle, amount: 50, currency: 'USDC' }, ada.key);
  const shown = await paywright('treasury', 'show');
  const { address } = await houseWallet(db, 'treasury', 'MATIC');
  expect(shown).toContain(`MATIC treasury  ${address}`);
  expect(shown.split('\n').filter((line) => /0x[0-9a-fA-F]{40}/.test(line))).toHaveLength(21);
  expect(shown).toMatch(/MATIC fees +0\.75 USDC/);
  expect(shown).not.toContain('GAS IS LOW');
});

test('lists what is owed to those who have no account', async () => {
  expect(await paywright('treasury', 'dues')).toContain('Nothing is owed to parties without an account.');
  const { account } = await openClaimant(db, { kind: 'domain', name: 'shop.example', asset: 'USDC', chain: 'MATIC' });
  const { handle } = await funded(1);
  const { rows } = await db.query<{ id: bigint }>('SELECT id FROM accounts WHERE handle = $1', [handle]);
  const ledger = createLedger({ db, logger: createLogger('silent') });
  await ledger.post({
    type: 'order',
    amount: amountOf('USDC', 250_000n),
    entries: [
      { account: userAccount(rows[0]?.id ?? 0n, 'USDC'), atomic: -250_000n },
      { account, atomic: 250_000n },
    ],
  });
  await ledger.stop();
  expect(await paywright('treasury', 'dues')).toMatch(/^MATIC 0\.25 USDC +domain shop\.example +last changed 20/);
  await expectNoDifference();
});

test('says which wallet runs out of gas', async () => {
  const { address } = await houseWallet(db, 'gas', 'OP');
  await fetch(local.settings.get('OP')?.urls[0] ?? '', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'hardhat_setBalance',
      params: [address, toHex(parseEther('0.001'))],
    }),
  });
  expect(await paywright('treasury', 'show')).toMatch(new RegExp(`${address}.*gas 0\\.001 ETH +GAS IS LOW`));
});

describe('fees', () => {
  test('are paid out like any withdrawal, and no more than was earned', async () => {
    const earned = await houseBalance(db, 'fees', 'USDC', 'MATIC');
    expect(earned.atomic).toBe(750_000n);
    const to = privateKeyToAddress(generatePrivateKey());
    await expect(paywright('treasury', 'withdraw-fees', '--to', to, '--amount', '0.750001')).rejects.toThrow(
      'Earned fees are only 0.75 USDC.',
    );
    const said = await paywright('treasury', 'withdraw-fees', '--to', to);
    expect(said).toContain(`0.75 USDC is on its way to ${to} on MATIC: wdr_`);
    const id = said.split(': ')[1] ?? '';
    await until('the fees to arrive', async () => {
      const { rows } = await db.query("SELECT FROM withdrawals WHERE id = $1 AND status = 'complete'", [id]);
      return rows.length > 0;
    });
    expect((await houseBalance(db, 'fees', 'USDC', 'MATIC')).atomic).toBe(0n);
    await expect(paywright('treasury', 'withdraw-fees', '--to', to)).rejects.toThrow('There are no earned fees');
    await expectNoDifference();
  });

  test.each([
    [['--to', '0x12'], '--to must be "0x"'],
    [['--to', '0x8ba1f109551bD432803012645Ac136ddd64DBA73'], 'checksum'],
    [['--to', '0x8ba1f109551bD432803012645Ac136ddd64DBA72', '--chain', 'DOGE'], 'The chain must be one of'],
    [['--to', '0x8ba1f109551bD432803012645Ac136ddd64DBA72', '--currency', 'GBP'], 'The currency must be one of'],
    [['--to', '0x8ba1f109551bD432803012645Ac136ddd64DBA72', '--amount', 'all'], '--amount must be'],
  ])('%j is one clear sentence', async (args, sentence) => {
    await expect(paywright('treasury', 'withdraw-fees', ...args)).rejects.toThrow(sentence);
  });
});

test('a float is taken into the books once it has arrived, and not before', async () => {
  const { address } = await houseWallet(db, 'treasury', 'MATIC');
  const add = () => paywright('treasury', 'add-float', '--amount', '500');
  await expect(add()).rejects.toThrow(
    `Only 0 USDC has arrived on MATIC that is not booked yet. Send the rest to ${address}`,
  );
  await mint('USDC', address, 500_000_000n);
  await until('the surplus', async () => (await houseBalance(db, 'surplus', 'USDC', 'MATIC')).atomic === 500_000_000n);
  await expectNoDifference();
  expect(await add()).toBe('500 USDC on MATIC is booked as yours.');
  expect((await houseBalance(db, 'equity', 'USDC', 'MATIC')).atomic).toBe(sandboxFloat.atomic + 500_000_000n);
  await expect(add()).rejects.toThrow('Only 0 USDC');
  await expectNoDifference();
});

test('native coin for gas is taken into the books up to what is there', async () => {
  // What a sweep burns is in the books only when it is over.
  await until('every deposit to be swept', async () => {
    const { rows } = await db.query(
      'SELECT FROM deposits WHERE swept_at IS NULL AND account_id IS NOT NULL UNION ALL SELECT FROM sweeps WHERE finished_at IS NULL',
    );
    return rows.length === 0;
  });
  const { address } = await houseWallet(db, 'gas', 'MATIC');
  const add = (amount: string) => paywright('treasury', 'add-float', '--currency', 'MATIC', '--amount', amount);
  await expect(add('3')).rejects.toThrow(`Only 0 MATIC on MATIC is not booked yet. Send the rest to ${address} first.`);
  await mint('MATIC', address, parseEther('3'));
  expect(await add('3')).toBe('3 MATIC on MATIC is booked as yours.');
  await expect(add('0.000000000000000001')).rejects.toThrow('Only 0 MATIC');
});

test('a new seed gives everybody new wallets; old addresses are still credited and swept, and nothing is lost', async () => {
  const ada = await funded(20);
  const before = (await service.client.get('/account', ada.key)).body.depositAddress;
  await service.client.get('/circle/deposit-address?chain=BASE', ada.key);
  const oldTreasury = await houseWallet(db, 'treasury', 'MATIC');

  expect(await paywright('treasury', 'rotate-seed')).toContain('Back up the database now');
  expect((await service.client.get('/account', ada.key)).body.depositAddress).toBe(before);
  expect(await houseWallet(db, 'treasury', 'MATIC')).toEqual(oldTreasury);
  const said = await paywright('treasury', 'rotate-seed', '--backed-up', '2');
  expect(said).toContain('Seed 2 is in use');
  expect(said).toContain('21 house wallets have new addresses');
  const { body: account } = await service.client.get('/account', ada.key);
  expect(account.depositAddress).not.toBe(before);
  const onBase = (await service.client.get('/circle/deposit-address?chain=BASE', ada.key)).body.address;
  expect(onBase).toBe(account.depositAddress);
  const { rows } = await db.query("SELECT FROM wallets WHERE retired_at IS NULL AND provider_ref LIKE '1/%'");
  expect(rows).toEqual([]);
  expect((await listHouseWallets(db)).filter(({ retired }) => retired)).toHaveLength(21);

  // Somebody has saved the old address and pays to it.
  await mint('USDC', before, 7_000_000n);
  await until('the deposit at the old address', async () => {
    return (await service.client.get('/circle/balance', ada.key)).body.USDC === '27';
  });
  const { parts, close } = await openCommandParts({
    config: readSettings({ DATABASE_URL: url }),
    logger: createLogger('silent'),
    url,
    db,
  });
  // The service does this every minute.
  await fillGas({ ...parts, faucet: local.faucet });
  const newTreasury = await houseWallet(db, 'treasury', 'MATIC');
  await expectLooksDespiteSilence(parts);
  const usdcOf = (address: `0x${string}`) =>
    paywright('treasury', 'show').then((shown) => new RegExp(`${address} +([\\d.]+) USDC`).exec(shown)?.[1]);
  await until(
    'the old treasury to be empty',
    async () => {
      await beginMoves({ ...parts, logger: createLogger('silent') });
      const { rows: unswept } = await db.query(
        'SELECT FROM deposits WHERE swept_at IS NULL AND account_id IS NOT NULL',
      );
      return (await usdcOf(oldTreasury.address)) === '0' && unswept.length === 0;
    },
    120_000,
  );
  await close();
  expect(Number(await usdcOf(newTreasury.address))).toBeGreaterThan(500);
  await expectNoDifference();

  // And the new ones pay.
  const to = privateKeyToAddress(generatePrivateKey());
  const { body } = await service.client.post('/circle/withdraw', { amount: 27, address: to }, ada.key);
  await until(
    'the withdrawal',
    async () => (await service.client.get(`/circle/withdrawals/${body.txId}`, ada.key)).body.status === 'complete',
    90_000,
  );
  await expectNoDifference();
  expect((await verifyLedger(db)).problems).toEqual([]);
});

/** While one chain is silent, the retired wallets on every other chain are looked into. */
async function expectLooksDespiteSilence({ networks }: { readonly networks: Networks }): Promise<void> {
  const [first] = (await listHouseWallets(db)).filter(({ retired }) => retired);
  const lookedAt = new Set<ChainId>();
  let giveUp = () => {};
  const silence = new Promise<never>((_resolve, reject) => {
    giveUp = () => reject(new Error('nobody has answered'));
  });
  const heard = Array.from(networks, ([chain, network]) => {
    const look = (): Promise<never> => {
      lookedAt.add(chain);
      return chain === first?.chain ? silence : Promise.reject(new Error('enough for this test'));
    };
    return [chain, { ...network, client: { ...network.client, readContract: look, getBalance: look } }] as const;
  });
  const beginning = beginMoves({ db, networks: new Map(heard) as Networks, logger: createLogger('silent') });
  await until('every chain to be looked at', async () => lookedAt.size === networks.size);
  giveUp();
  await beginning;
}
