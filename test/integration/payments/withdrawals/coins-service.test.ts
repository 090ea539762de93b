import { type Hex, parseEther, parseUnits } from 'viem';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import { beforeAll, describe, expect, test } from 'vitest';
import { connectLocalChains } from '../../../../sandbox/chains/local-chains.ts';
import { tokenAbi } from '../../../../src/chains/abi.ts';
import { createNetworks } from '../../../../src/chains/network.ts';
import { type Coin, chains, coins, homeChain } from '../../../../src/money/catalogue.ts';
import type { TestAccount } from '../../../support/client.ts';
import { useService } from '../../../support/service.ts';
import { until } from '../../../support/until.ts';

const service = useService();

/** Enough digits that no number keeps them, and worth some hundred USDC each. */
const amounts: Readonly<Record<Coin, string>> = {
  DAI: '250.123456789012345678',
  ETH: '0.100000000000000001',
  MATIC: '400.500000000000000003',
};

let account: TestAccount;
const get = async (path: string) => (await service.client.get(path, account.key)).body;
const withdraw = (body: object, headers: Record<string, string> = {}) =>
  service.client.request('POST', '/circle/withdraw', { key: account.key, body, headers });

beforeAll(async () => {
  account = await service.client.register();
  for (const coin of coins) {
    const body = { amount: amounts[coin], currency: coin };
    const reply = await service.client.post('/sandbox/fund', body, account.key);
    expect(reply).toMatchObject({ status: 200, body: { amount: amounts[coin], currency: coin } });
  }
  await service.client.post('/sandbox/fund', { amount: 20 }, account.key);
});

async function balancesOutside(address: Hex): Promise<Record<Coin, bigint>> {
  const network = createNetworks((await connectLocalChains(service.database)).settings).get('MATIC');
  if (network === undefined) throw new Error('Polygon is not running');
  const { client } = network;
  const read = (coin: Coin) =>
    client.readContract({
      address: chains[homeChain].tokens[coin],
      abi: tokenAbi,
      functionName: 'balanceOf',
      args: [address],
    });
  return { DAI: await read('DAI'), ETH: await read('ETH'), MATIC: await client.getBalance({ address }) };
}

test('every list that shows money shows coins, to the last digit and as text', async () => {
  expect(await get('/circle/deposit-address')).toMatchObject({
    currencies: expect.arrayContaining(['USDC', 'EURC', 'ETH', 'MATIC', 'DAI']),
    note: expect.stringContaining('native coins are not credited'),
  });
  expect((await get('/circle/deposit-address?chain=BASE')).currencies.toSorted()).toEqual(['EURC', 'USDC']);
  const { deposits } = await get('/circle/deposits');
  const { transfers } = await get('/circle/transfers');
  const month = new Date().toISOString().slice(0, 7);
  for (const coin of coins) {
    expect(deposits).toContainEqual(expect.objectContaining({ currency: coin, amount: amounts[coin] }));
    expect(transfers).toContainEqual(
      expect.objectContaining({ type: 'deposit', currency: coin, amount: amounts[coin], fee: '0' }),
    );
    const statement = await get(`/account/statement?month=${month}&currency=${coin}`);
    expect(statement).toMatchObject({ currency: coin, closingBalance: amounts[coin] });
  }
  expect(transfers).toContainEqual(expect.objectContaining({ currency: 'USDC', amount: 20, fee: 0 }));
  const { proofs } = await get('/account/proof');
  expect(proofs).toHaveLength(4);
  for (const coin of coins) {
    expect(proofs).toContainEqual(expect.objectContaining({ asset: coin, balance: amounts[coin] }));
  }
});

describe('what is refused', () => {
  const address = privateKeyToAddress(generatePrivateKey());
  test.each([
    [
      'less than 1 USDC is worth',
      { amount: '0.0003', currency: 'ETH' },
      'invalid_request',
      'worth from 1 to 10000 USDC',
    ],
    [
      'more than 10,000 USDC are worth',
      { amount: 4, currency: 'ETH' },
      'invalid_request',
      'worth from 1 to 10000 USDC',
    ],
    ['nineteen decimals', { amount: '1.0000000000000000001', currency: 'DAI' }, 'invalid_request', 'decimals'],
    ['nothing', { amount: '0', currency: 'MATIC' }, 'invalid_request', 'more than 0'],
    ['a negative amount', { amount: -5, currency: 'MATIC' }, 'invalid_request', 'more than 0'],
    ['no number', { amount: '1e3', currency: 'MATIC' }, 'invalid_request', 'decimal number'],
    ['lower case', { amount: 5, currency: 'dai' }, 'invalid_request', 'must be one of'],
    ['the name of a wrapped coin', { amount: 5, currency: 'WETH' }, 'invalid_request', 'must be one of'],
    ['seven decimals of USDC', { amount: '5.0000001', currency: 'USDC' }, 'invalid_request', 'at most 6 decimals'],
    ['another chain', { amount: 5, currency: 'DAI', chain: 'BASE' }, 'currency_not_available', 'Base'],
    ['ether on Ethereum', { amount: 1, currency: 'ETH', chain: 'ETH' }, 'currency_not_available', 'Ethereum'],
    ['more than there is', { amount: '401', currency: 'MATIC' }, 'insufficient_balance', 'balance'],
    [
      'a contract of Uniswap',
      { amount: 5, currency: 'DAI', address: '0x68b3465833fb72A70ecDF485E0e4C7bD8665Fc45' },
      'withdrawal_address_refused',
      'lost',
    ],
  ])('%s', async (_name, body, code, words) => {
    const reply = await withdraw({ address, ...body });
    expect(reply).toMatchObject({ status: 400, body: { code } });
    expect(JSON.stringify(reply.body)).toContain(words);
  });

  test('native coin to a deposit address, where it would lie unseen; a token is a deposit there', async () => {
    const other = await service.client.register();
    const { address: deposit } = (await service.client.get('/circle/deposit-address', other.key)).body;
    const reply = await withdraw({ amount: 5, currency: 'MATIC', address: deposit });
    expect(reply).toMatchObject({ status: 400, body: { code: 'withdrawal_address_refused' } });
  });

  test.each(coins)('a transfer in %s', async (currency) => {
    const { handle } = await service.client.register();
    const transfer = await service.client.post('/agent/transfer', { to: handle, amount: 5, currency }, account.key);
    expect(transfer).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
  });
});

test('whole balances leave to the last unit, are told in text, and the reserves agree all the time', async () => {
  const outside = privateKeyToAddress(generatePrivateKey());
  const differing: unknown[] = [];
  let polling = true;
  const poll = (async () => {
    while (polling) {
      const { body } = await service.client.get('/reserves');
      for (const row of body.reserves) if (row.difference !== '0') differing.push(row);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  const nets: Partial<Record<Coin, bigint>> = {};
  const ids: string[] = [];
  for (const coin of coins) {
    const key = { 'idempotency-key': `all of ${coin}` };
    const body = { amount: amounts[coin], currency: coin, address: outside };
    const reply = await withdraw(body, key);
    const gross = parseEther(amounts[coin]);
    const fee = (gross * 149n + 5_000n) / 10_000n;
    expect(reply.status).toBe(200);
    expect(reply.body).toMatchObject({ gross: amounts[coin], currency: coin, chain: 'MATIC', status: 'queued' });
    expect(parseUnits(reply.body.fee, 18)).toBe(fee);
    expect(parseUnits(reply.body.net, 18)).toBe(gross - fee);
    const arrives = { DAI: ' DAI is on', ETH: 'ETH as WETH is on', MATIC: 'MATIC as a native coin is on' }[coin];
    expect(reply.body.note).toContain(arrives);
    expect((await withdraw(body, key)).body).toEqual(reply.body);
    nets[coin] = gross - fee;
    ids.push(reply.body.txId);
  }
  await until('all to be complete', async () => {
    const { rows } = await service.database.db.query(
      "SELECT FROM withdrawals WHERE id = ANY ($1) AND status = 'complete'",
      [ids],
    );
    return rows.length === ids.length;
  });
  polling = false;
  await poll;
  expect(differing).toEqual([]);
  expect(await balancesOutside(outside)).toEqual(nets);
  const { withdrawals } = await get('/circle/withdrawals?status=complete');
  expect(withdrawals.map((one: { gross: unknown }) => one.gross).toSorted()).toEqual(Object.values(amounts).toSorted());
  const month = new Date().toISOString().slice(0, 7);
  for (const coin of coins) {
    expect(await get(`/account/statement?month=${month}&currency=${coin}`)).toMatchObject({ closingBalance: '0' });
  }
});

test('a number will do where it is exact', async () => {
  const body = { amount: 2.5, currency: 'DAI' };
  const funded = await service.client.post('/sandbox/fund', body, account.key);
  expect(funded).toMatchObject({ status: 200, body: { amount: '2.5', currency: 'DAI' } });
  const address = privateKeyToAddress(generatePrivateKey());
  const reply = await withdraw({ amount: 2.5, currency: 'DAI', address });
  expect(reply).toMatchObject({ status: 200, body: { gross: '2.5', fee: '0.03725', net: '2.46275' } });
});
