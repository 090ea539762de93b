import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { afterAll, expect, test } from 'vitest';
import { tokenAbi } from '../../src/chains/abi.ts';
import { chains } from '../../src/chains/chains.ts';
import { createNetworks } from '../../src/chains/network.ts';
import { houseBalance } from '../../src/ledger/balances.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { connectLocalChains } from '../../src/sandbox/chains/local-chains.ts';
import { createClient } from '../support/client.ts';
import { useDatabase } from '../support/database.ts';
import { freePort } from '../support/process.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
const script = fileURLToPath(new URL('../support/ends-at.mjs', import.meta.url));
const children: ChildProcess[] = [];
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

/** Every place where a withdrawal has just done something that cannot be undone, in order. */
const steps = [
  'withdrawal.opened',
  'withdrawal.screened',
  'withdrawal.reserved',
  'transaction.signed',
  'transaction.sent',
  'withdrawal.taken',
  'withdrawal.confirmed',
  'withdrawal.completed',
];

async function start(endAt: string) {
  const port = await freePort();
  const child = spawn(process.execPath, [script], {
    env: { PATH: process.env['PATH'], DATABASE_URL: database.url, PORT: String(port), END_AT: endAt },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const ended = new Promise<string | number | null>((resolve) =>
    child.once('exit', (code, signal) => resolve(signal ?? code)),
  );
  const ready = new Promise<'ready'>((resolve) => child.stdout.on('data', () => resolve('ready')));
  // A service that takes up an old withdrawal may be ended before it is ready.
  await Promise.race([ready, ended]);
  return { ended, client: createClient(`http://127.0.0.1:${port}`) };
}

test('a withdrawal survives the end of its process at every step, and is paid once', async () => {
  const to = privateKeyToAccount(generatePrivateKey()).address;
  const first = await start(steps[0] ?? '');
  const account = await first.client.register();
  const { depositAddress } = (await first.client.get('/account', account.key)).body;
  const local = await connectLocalChains(database);
  await local.faucet.mint({
    id: randomUUID(),
    chain: 'MATIC',
    asset: 'USDC',
    to: depositAddress,
    atomic: 100_000_000n,
  });
  await until('the deposit to be swept', async () => {
    const { rows } = await database.db.query('SELECT FROM deposits WHERE swept_at IS NOT NULL');
    return rows.length > 0;
  });
  const lost = first.client.request('POST', '/circle/withdraw', {
    key: account.key,
    body: { amount: 60, address: to },
    headers: { 'idempotency-key': 'the-only-one' },
  });
  await expect(lost).rejects.toThrow('fetch failed');
  expect(await first.ended).toBe('SIGKILL');

  for (const step of steps.slice(1)) {
    const { ended } = await start(step);
    expect(await ended, step).toBe('SIGKILL');
  }

  const last = await start('never');
  const again = await last.client.request('POST', '/circle/withdraw', {
    key: account.key,
    body: { amount: 60, address: to },
    headers: { 'idempotency-key': 'the-only-one' },
  });
  expect(again.status).toBe(200);
  const { body: withdrawal } = await last.client.get(`/circle/withdrawals/${again.body.txId}`, account.key);
  expect(withdrawal.status).toBe('complete');
  expect((await last.client.get('/circle/balance', account.key)).body.USDC).toBe('40');

  const { client } = createNetworks((await connectLocalChains(database)).settings).get('MATIC') ?? {};
  const paid = await client?.readContract({
    address: chains.MATIC.tokens.USDC,
    abi: tokenAbi,
    functionName: 'balanceOf',
    args: [to],
  });
  expect(paid).toBe(59_106_000n);
  const fees = await houseBalance(database.db, 'fees', 'USDC', 'MATIC');
  expect(fees.atomic).toBe(894_000n);
  await verifyLedger(database.db);
  const { body: reserves } = await last.client.get('/reserves');
  expect(reserves.reserves.map((row: { difference: string }) => row.difference)).toEqual(
    reserves.reserves.map(() => '0'),
  );
}, 180_000);
