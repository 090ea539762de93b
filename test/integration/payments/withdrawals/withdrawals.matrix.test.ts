import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPublicClient, createWalletClient, getAddress, type Hex, http, parseAbi } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { polygon } from 'viem/chains';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mintAccount } from '../../../../sandbox/accounts.ts';
import { connectLocalChains, type LocalChains } from '../../../../sandbox/chains/local-chains.ts';
import { tokenAbi } from '../../../../src/chains/abi.ts';
import { houseWallet } from '../../../../src/custody/wallets/house-wallets.ts';
import { houseBalance } from '../../../../src/ledger/balances.ts';
import { verifyLedger } from '../../../../src/ledger/verify.ts';
import { chains } from '../../../../src/money/catalogue.ts';
import type { TestAccount } from '../../../support/client.ts';
import { oneOfMany } from '../../../support/matrix.ts';
import { useService } from '../../../support/service.ts';
import { until } from '../../../support/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'paywright-deny-'));
const denyListFile = join(folder, 'deny.txt');
const denied = privateKeyToAccount(generatePrivateKey()).address;
writeFileSync(denyListFile, `# nobody pays these\n${denied.toLowerCase()}  # for a test\n`);
afterAll(() => rmSync(folder, { recursive: true }));

const service = useService({ env: { DENY_LIST_FILE: denyListFile } });
let local: LocalChains;
let url: string;
beforeAll(async () => {
  local = await connectLocalChains({ db: service.database.db });
  url = local.settings.get('MATIC')?.urls[0] ?? '';
});

const usdc = chains.MATIC.tokens.USDC;
const outside = () => privateKeyToAccount(generatePrivateKey()).address;
const chain = () => createPublicClient({ chain: polygon, transport: http(url) });
const usdcOf = (owner: Hex) =>
  chain().readContract({ address: usdc, abi: tokenAbi, functionName: 'balanceOf', args: [owner] });

async function balance(account: TestAccount): Promise<{ USDC: string; EURC: string }> {
  return (await service.client.get('/circle/balance', account.key)).body;
}

/** Money that came the way of all money: minted on the chain to the account's own address, and credited from there. */
async function funded(amount: number): Promise<TestAccount> {
  const account = await service.client.register();
  const { depositAddress } = (await service.client.get('/account', account.key)).body;
  const atomic = BigInt(amount) * 1_000_000n;
  await local.faucet.mint({ id: randomUUID(), chain: 'MATIC', asset: 'USDC', to: depositAddress, atomic });
  await until('the deposit', async () => (await balance(account)).USDC === String(amount));
  return account;
}

const withdraw = (account: TestAccount, body: object) => service.client.post('/circle/withdraw', body, account.key);

function finished(account: TestAccount, txId: string) {
  return until(`${txId} to finish`, async () => {
    const { body } = await service.client.get(`/circle/withdrawals/${txId}`, account.key);
    return body.finishedAt === null ? undefined : body;
  });
}

test('a deposit from a stock client comes in, and a withdrawal goes out, to the last unit', async () => {
  const stranger = privateKeyToAccount(generatePrivateKey());
  const wallet = createWalletClient({ account: stranger, chain: polygon, transport: http(url) });
  await local.faucet.mint({
    id: randomUUID(),
    chain: 'MATIC',
    asset: 'MATIC',
    to: stranger.address,
    atomic: 10n ** 18n,
  });
  await local.faucet.mint({
    id: randomUUID(),
    chain: 'MATIC',
    asset: 'USDC',
    to: stranger.address,
    atomic: 100_000_001n,
  });
  const account = await service.client.register();
  const { depositAddress } = (await service.client.get('/account', account.key)).body;
  await wallet.writeContract({
    address: usdc,
    abi: tokenAbi,
    functionName: 'transfer',
    args: [depositAddress, 100_000_001n],
  });
  await until('the deposit', async () => (await balance(account)).USDC === '100.000001');

  const to = outside();
  const { status, body } = await withdraw(account, { amount: 50, currency: 'USDC', address: to });
  expect(status).toBe(200);
  expect(body).toEqual({
    txId: expect.stringMatching(/^wdr_/),
    status: 'queued',
    address: to,
    chain: 'MATIC',
    gross: 50,
    fee: 0.745,
    net: 49.255,
    currency: 'USDC',
    note: expect.stringContaining('49.255 USDC is on its way'),
  });
  expect((await balance(account)).USDC).toBe('50.000001');
  const done = await finished(account, body.txId);
  expect(done).toMatchObject({ status: 'complete', gross: 50, fee: 0.745, net: 49.255, error: null });
  expect(await usdcOf(to)).toBe(49_255_000n);
  const receipt = await chain().getTransactionReceipt({ hash: done.txHash });
  expect(receipt.status).toBe('success');
  const { body: list } = await service.client.get('/circle/withdrawals?status=complete', account.key);
  expect(list.withdrawals.map((one: { txId: string }) => one.txId)).toEqual([body.txId]);
  await verifyLedger(service.database.db);
});

describe('what is refused', () => {
  let account: TestAccount;
  beforeAll(async () => {
    account = await funded(20);
  });
  const good = '0x8ba1f109551bD432803012645Ac136ddd64DBA72';

  test.each([
    ['too little', { amount: 0.999999, address: good }, 'invalid_request', 'must be from 1 to 10000'],
    ['too much', { amount: 10_000.000001, address: good }, 'invalid_request', 'must be from 1 to 10000'],
    ['too many decimals', { amount: 1.0000001, address: good }, 'invalid_request', 'decimals'],
    ['no amount', { address: good }, 'invalid_request', 'amount'],
    ['no amount at all', { amount: 'five', address: good }, 'invalid_request', 'decimal number'],
    ['a short address', { amount: 5, address: '0x12' }, 'invalid_request', '40 hexadecimal'],
    ['no 0x', { amount: 5, address: good.slice(2) }, 'invalid_request', '40 hexadecimal'],
    ['a wrong checksum', { amount: 5, address: good.replace('bD', 'Bd') }, 'invalid_request', 'checksum'],
    ['an unknown chain', { amount: 5, address: good, chain: 'DOGE' }, 'invalid_request', 'MATIC'],
    [
      'an unknown currency',
      { amount: 5, address: good, currency: 'AVAX' },
      'invalid_request',
      'must be one of USDC, EURC, DAI',
    ],
    ['an unknown field', { amount: 5, adress: good }, 'invalid_request', 'adress'],
    ['no address at all', { amount: 5 }, 'withdrawal_address_required', 'withdrawalAddress'],
    [
      'a currency that the chain has not',
      { amount: 5, address: good, chain: 'ARB', currency: 'EURC' },
      'currency_not_available',
      'Arbitrum',
    ],
    ['the zero address', { amount: 5, address: `0x${'0'.repeat(40)}` }, 'withdrawal_address_refused', 'lost'],
    ['the token itself', { amount: 5, address: usdc }, 'withdrawal_address_refused', 'lost'],
    ["another chain's token", { amount: 5, address: chains.OP.tokens.USDC }, 'withdrawal_address_refused', 'lost'],
    [
      'a precompiled contract',
      { amount: 5, address: `0x${'1'.padStart(40, '0')}` },
      'withdrawal_address_refused',
      'lost',
    ],
    ['more than there is', { amount: 20.000001, address: good }, 'insufficient_balance', 'balance'],
    ['what is on another chain', { amount: 5, address: good, chain: 'ETH' }, 'insufficient_balance', 'balance'],
  ])('%s', async (_name, body, code, words) => {
    const reply = await withdraw(account, body);
    expect(reply.status).toBe(400);
    expect(reply.body.code).toBe(code);
    expect(JSON.stringify(reply.body)).toContain(words);
    expect((await balance(account)).USDC).toBe('20');
    const { body: list } = await service.client.get('/circle/withdrawals', account.key);
    expect(list.withdrawals).toEqual([]);
  });

  test('a house wallet, on whichever chain', async () => {
    const { address } = await houseWallet(service.database.db, 'treasury', 'BASE');
    const reply = await withdraw(account, { amount: 5, address: address.toLowerCase() });
    expect(reply.body.code).toBe('withdrawal_address_refused');
  });

  test('without a key, and of somebody else', async () => {
    expect((await service.client.post('/circle/withdraw', { amount: 5, address: good })).status).toBe(401);
    const other = await service.client.register();
    const { body } = await withdraw(account, { amount: 1, address: outside() });
    expect((await service.client.get(`/circle/withdrawals/${body.txId}`, other.key)).status).toBe(404);
    expect((await service.client.get('/circle/withdrawals/wdr_nothing', other.key)).body.code).toBe(
      'withdrawal_not_found',
    );
    expect((await service.client.get('/circle/withdrawals/%00', other.key)).body.code).toBe('invalid_request');
    await finished(account, body.txId);
  });
});

test('the saved address is the default', async () => {
  const account = await funded(10);
  const to = outside();
  await service.client.patch('/account', { withdrawalAddress: to }, account.key);
  const { body } = await withdraw(account, { amount: 10 });
  expect(body.address).toBe(to);
  expect(body.fee).toBe(0.149);
  await finished(account, body.txId);
  expect(await usdcOf(to)).toBe(9_851_000n);
});

test("another user's deposit address is fine: it is a deposit for them", async () => {
  const [from, to] = [await funded(10), await service.client.register()];
  const { depositAddress } = (await service.client.get('/account', to.key)).body;
  const { body } = await withdraw(from, { amount: 10, address: depositAddress });
  await finished(from, body.txId);
  await until('the deposit', async () => (await balance(to)).USDC === '9.851');
});

test('the same Idempotency-Key pays once, also when both requests come at once', async () => {
  const account = await funded(30);
  const to = outside();
  const send = (amount = 10) =>
    service.client.request('POST', '/circle/withdraw', {
      key: account.key,
      body: { amount, address: to },
      headers: { 'idempotency-key': 'one' },
    });
  const replies = await Promise.all([send(), send(), send()]);
  const answered = replies.filter(({ status }) => status === 200);
  expect(replies.every(({ status }) => status === 200 || status === 409)).toBe(true);
  const again = await send();
  expect(new Set([...answered, again].map(({ body }) => body.txId)).size).toBe(1);
  expect((await send(11)).body.code).toBe('idempotency_mismatch');
  await finished(account, again.body.txId);
  expect(await usdcOf(to)).toBe(9_851_000n);
  expect((await balance(account)).USDC).toBe('20');
});

test('what the token contract refuses comes back whole', async () => {
  const account = await funded(10);
  const to = outside();
  const minter = createWalletClient({ account: mintAccount, chain: polygon, transport: http(url) });
  const hash = await minter.writeContract({
    address: usdc,
    abi: parseAbi(['function blacklist(address who)']),
    functionName: 'blacklist',
    args: [to],
  });
  await chain().waitForTransactionReceipt({ hash });
  const { body } = await withdraw(account, { amount: 10, address: to });
  const done = await finished(account, body.txId);
  expect(done.status).toBe('failed');
  expect(done.error).toContain('blacklisted');
  expect((await balance(account)).USDC).toBe('10');
  const { body: history } = await service.client.get('/circle/transfers', account.key);
  expect(history.transfers.map((one: { type: string }) => one.type)).toEqual([
    'withdrawal_returned',
    'withdrawal',
    'deposit',
  ]);
});

test('a suspicious address holds the withdrawal and freezes the account', async () => {
  const account = await funded(10);
  const { body } = await withdraw(account, { amount: 5, address: denied });
  const held = await until('the hold', async () => {
    const { body: found } = await service.client.get(`/circle/withdrawals/${body.txId}`, account.key);
    return found.status === 'held' ? found : undefined;
  });
  // Its owner is told no more than that; the operator sees why.
  expect(held.error).toBe('The operator is reviewing this withdrawal. Contact the operator.');
  const { rows } = await service.database.db.query('SELECT held_because FROM withdrawals WHERE id = $1', [body.txId]);
  expect(rows).toEqual([{ heldBecause: 'the address is on the deny list, line 2' }]);
  expect(await usdcOf(getAddress(denied))).toBe(0n);
  expect((await withdraw(account, { amount: 1, address: outside() })).body.code).toBe('account_frozen');
});

interface Finished {
  readonly status: string;
  readonly txHash: string;
  readonly finishedAt: string | null;
}

for (const [how, count] of [
  ['some withdrawals', 6],
  ['many withdrawals', 60],
] as const) {
  test(`${how} at once all arrive, each exactly once`, oneOfMany({ isRepresentative: count < 60 }), async () => {
    const account = await funded(1_000);
    const house = (kind: 'fees' | 'withdrawals_in_transit') => houseBalance(service.database.db, kind, 'USDC', 'MATIC');
    const [fees, inTransit] = [await house('fees'), await house('withdrawals_in_transit')];
    const addresses = Array.from({ length: count }, outside);
    // A busy machine may say that it is busy. Whoever asks again with the same key is paid once all the same.
    const withdrawSurely = async (address: Hex) => {
      const headers = { 'idempotency-key': randomUUID() };
      for (;;) {
        const body = { amount: 10, address };
        const reply = await service.client.request('POST', '/circle/withdraw', { key: account.key, body, headers });
        if (reply.status !== 503) return reply;
      }
    };
    const replies = await Promise.all(addresses.map(withdrawSurely));
    expect(replies.map(({ status }) => status)).toEqual(addresses.map(() => 200));
    const ends = await until<Finished[]>(
      'all to finish',
      async () => {
        const { body } = await service.client.get('/circle/withdrawals?limit=100', account.key);
        return body.withdrawals.every((one: Finished) => one.finishedAt !== null) && (body.withdrawals as Finished[]);
      },
      240_000,
    );
    expect(ends.every(({ status }) => status === 'complete')).toBe(true);
    expect(new Set(ends.map(({ txHash }) => txHash)).size).toBe(count);
    expect(await Promise.all(addresses.map(usdcOf))).toEqual(addresses.map(() => 9_851_000n));
    expect((await balance(account)).USDC).toBe(String(1_000 - 10 * count));
    expect((await house('fees')).atomic - fees.atomic).toBe(BigInt(count) * 149_000n);
    expect(await house('withdrawals_in_transit')).toEqual(inTransit);
    await verifyLedger(service.database.db);
  });
}
