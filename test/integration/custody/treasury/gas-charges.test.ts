import { randomUUID } from 'node:crypto';
import type { Hex } from 'viem';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import { beforeAll, describe, expect, test } from 'vitest';
import { connectLocalChains } from '../../../../sandbox/chains/local-chains.ts';
import { createNetworks, type Networks } from '../../../../src/chains/network.ts';
import { houseBalance } from '../../../../src/ledger/balances.ts';
import { verifyLedger } from '../../../../src/ledger/verify.ts';
import type { ChainId } from '../../../../src/money/catalogue.ts';
import { amountFromText } from '../../../../src/money/parse-amount.ts';
import { arrivingWork, leavingWork } from '../../../../src/payments/bridge/gas-fee.ts';
import type { TestAccount } from '../../../support/client.ts';
import { useService } from '../../../support/service.ts';
import { until } from '../../../support/until.ts';

// Avalanche is made dear, so that what is small does not pay for it.
const service = useService({ env: { SANDBOX_CHARGE_GAS: 'true', AVAX_USD: '10000' } });
let networks: Networks;
let ada: TestAccount;

beforeAll(async () => {
  networks = createNetworks((await connectLocalChains(service.database)).settings);
  ada = await service.client.register();
  expect((await service.client.post('/sandbox/fund', { amount: 500 }, ada.key)).status).toBe(200);
});

interface Chain {
  readonly id: ChainId;
  readonly gasFee: { readonly leaving: string; readonly arriving: string };
  readonly minimumAmount: string;
}

async function quoted(id: ChainId): Promise<Chain> {
  const { body } = await service.client.get('/cross-chain/chains');
  const found = (body.chains as Chain[]).find((chain) => chain.id === id);
  if (found === undefined) throw new Error(`${id} is not listed`);
  return found;
}

function usdc(text: string): bigint {
  const parsed = amountFromText('USDC', text);
  return parsed.ok ? parsed.amount.atomic : 0n;
}

const text = (atomic: bigint) => `${atomic / 1_000_000n}.${String(atomic % 1_000_000n).padStart(6, '0')}`;

const bridge = (body: object, key = ada.key) =>
  service.client.request('POST', '/cross-chain/transfer', { key, body, headers: { 'idempotency-key': randomUUID() } });

const finished = (path: string) =>
  until('it to be finished', async () => {
    const { body } = await service.client.get(path, ada.key);
    return ['completed', 'failed'].includes(body.status) && body;
  });

/** What the transactions of a saga have used on a chain, as their receipts say. */
async function gasUsed(sagaId: string, chain: ChainId): Promise<{ readonly gas: bigint; readonly bytes: bigint }> {
  const { rows } = await service.database.db.query<{ hash: Hex }>(
    'SELECT hash FROM chain_steps WHERE saga_id = $1 AND chain = $2 AND hash IS NOT NULL',
    [sagaId, chain],
  );
  let [gas, bytes] = [0n, 0n];
  const client = networks.get(chain)?.client;
  if (client === undefined || rows.length === 0) throw new Error('there is nothing to measure');
  for (const { hash } of rows) {
    const [receipt, sent] = await Promise.all([
      client.getTransactionReceipt({ hash }),
      client.getTransaction({ hash }),
    ]);
    gas += receipt.gasUsed;
    // The signature and the other fields beside the call.
    bytes += BigInt((sent.input.length - 2) / 2) + 110n;
  }
  return { gas, bytes };
}

describe('a cross-chain transfer', () => {
  test('costs what was quoted, the house earns it with the burn, and the reserves differ by nothing', async () => {
    const [source, target] = [await quoted('MATIC'), await quoted('AVAX')];
    const fee = usdc(source.gasFee.leaving) + usdc(target.gasFee.arriving);
    expect(fee).toBeGreaterThan(0n);
    const { status, body } = await bridge({ from: 'MATIC', to: 'AVAX', amount: '100' });
    expect(status).toBe(200);
    expect(usdc(body.gasFee)).toBe(fee);
    expect(body).toMatchObject({ amount: '100', protocolFee: '0' });
    const before = await houseBalance(service.database.db, 'fees', 'USDC', 'MATIC');
    const done = await finished(`/cross-chain/status/${body.transferId}`);
    expect(done).toMatchObject({ status: 'completed', amount: '100', gasFee: body.gasFee, protocolFee: '0' });
    expect(usdc(done.received)).toBe(100_000_000n - fee);
    const { body: listed } = await service.client.get('/cross-chain/wallets', ada.key);
    const wallet = listed.wallets.find(({ blockchain }: { blockchain: string }) => blockchain === 'AVAX');
    expect(usdc(wallet.balance)).toBe(100_000_000n - fee);
    const after = await houseBalance(service.database.db, 'fees', 'USDC', 'MATIC');
    expect(after.atomic - before.atomic).toBe(fee);
    expect((await verifyLedger(service.database.db)).problems).toEqual([]);
    const { body: report } = await service.client.get('/reserves');
    expect(report.reserves.filter((row: { difference: string }) => row.difference !== '0')).toEqual([]);

    // What is charged covers what Circle's own contracts take.
    const [left, arrived] = [await gasUsed(body.transferId, 'MATIC'), await gasUsed(body.transferId, 'AVAX')];
    expect(left.gas).toBeLessThanOrEqual(leavingWork.gas);
    expect(left.bytes).toBeLessThanOrEqual(leavingWork.bytes);
    expect(arrived.gas).toBeLessThanOrEqual(arrivingWork.gas);
    expect(arrived.bytes).toBeLessThanOrEqual(arrivingWork.bytes);
  });

  test('of less than the minimum is refused with the smallest amount, and nothing leaves the balance', async () => {
    const [source, target] = [await quoted('MATIC'), await quoted('BASE')];
    const minimum = [source, target].map((chain) => usdc(chain.minimumAmount)).sort((a, b) => Number(b - a))[0] ?? 0n;
    const before = (await service.client.get('/circle/balance', ada.key)).body;
    const tooLittle = await bridge({ from: 'MATIC', to: 'BASE', amount: text(minimum - 1n) });
    expect(tooLittle).toMatchObject({ status: 400, body: { code: 'bridge_amount_too_small' } });
    expect(usdc(tooLittle.body.leastAmount)).toBe(minimum);
    expect(await bridge({ from: 'MATIC', to: 'BASE', amount: '0.000001' })).toMatchObject({ status: 400 });
    expect((await service.client.get('/circle/balance', ada.key)).body).toEqual(before);
    expect((await bridge({ from: 'MATIC', to: 'BASE', amount: text(minimum) })).status).toBe(200);
  });

  test('is refused when its gas costs more than its owner allows', async () => {
    const dear = await bridge({ from: 'MATIC', to: 'ETH', amount: '100', maxGasFee: '0' });
    expect(dear).toMatchObject({ status: 400, body: { code: 'bridge_fee_too_high' } });
    const { status } = await bridge({ from: 'MATIC', to: 'ETH', amount: '100', maxGasFee: dear.body.gasFee });
    expect(status).toBe(200);
    const unclear = await bridge({ from: 'MATIC', to: 'ETH', amount: '100', maxGasFee: 'little' });
    expect(unclear).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
  });
});

test('a swap is refused whose fee does not pay for the gas, and is told what it would cost if it failed', async () => {
  const swap = (amount: string) => service.client.post('/swap/execute', { from: 'USDC', to: 'ETH', amount }, ada.key);
  const refused = await swap('0.001');
  expect(refused).toMatchObject({ status: 400, body: { code: 'swap_amount_too_small', currency: 'USDC' } });
  const accepted = await swap(refused.body.leastAmount);
  expect(accepted.status).toBe(200);
  const done = await finished(`/swap/${accepted.body.txId}`);
  expect(done).toMatchObject({ status: 'completed', gasFee: '0' });
  const { gasFeeIfFailed } = done;
  expect(usdc(gasFeeIfFailed)).toBeGreaterThan(0n);
  expect(usdc(gasFeeIfFailed)).toBeLessThanOrEqual(usdc(done.airpayFee));
});

test('a withdrawal is refused on any chain when its fee does not pay for the gas', async () => {
  const address = privateKeyToAddress(generatePrivateKey());
  const withdraw = (amount: number, chain: ChainId) =>
    service.client.post('/circle/withdraw', { amount, chain, address }, ada.key);
  expect((await withdraw(1, 'MATIC')).status).toBe(200);
  const refused = await withdraw(1, 'AVAX');
  expect(refused).toMatchObject({ status: 400, body: { code: 'amount_too_small', currency: 'USDC' } });
  expect((await withdraw(refused.body.leastAmount, 'AVAX')).status).toBe(200);
});
