import type { Hex } from 'viem';
import { expect, onTestFinished, test } from 'vitest';
import { onlyRow } from '../../../../src/kernel/db/database.ts';
import type { ChainId } from '../../../../src/money/catalogue.ts';
import { stranger } from '../../../contract/workbench.ts';
import { useChains } from '../../../support/chains.ts';
import type { TestAccount } from '../../../support/client.ts';
import { type Service, startService, useStartedDatabase } from '../../../support/service.ts';
import { startUnrulyRpc } from '../../../support/unruly-rpc.ts';
import { until } from '../../../support/until.ts';

const database = useStartedDatabase();
const { db } = database;
const chains = useChains(database);
const count = 40;
const patienceMs = 120_000;

test('forty withdrawals on a chain that does not answer hold up nobody else, and are paid once it does', {
  tags: ['matrix'],
  timeout: 400_000,
}, async () => {
  const settings = chains.local.settings.get('BASE');
  if (settings === undefined) throw new Error('BASE is not running');
  const rpc = await startUnrulyRpc('BASE', settings);
  // The service joins the chains as they are published; only this one is not what it seems.
  await db.query("UPDATE sandbox.chains SET url = $1 WHERE chain = 'BASE'", [rpc.url]);
  const said: string[] = [];
  const service = await startService(database, {
    env: { SANDBOX_AUTO_VERIFY: 'false' },
    say: (line) => void said.push(line),
  });
  onTestFinished(() => service.stop());

  const [ada, grace] = [await service.client.register(), await service.client.register()];
  await deposit(service, ada, 'BASE', 100_000_000n);
  await deposit(service, grace, 'MATIC', 50_000_000n);
  await isSwept('BASE');
  await isSwept('MATIC');

  // It says what the treasury holds, so that all forty are sent; whoever would send one gets no answer.
  rpc.misbehave(({ method }) => (method === 'eth_call' ? undefined : 'silent'));
  const silent: { readonly id: string; readonly to: Hex }[] = [];
  for (let place = 0; place < count; place++) silent.push(await withdraw(service, ada, 'BASE', 2));
  const asked = () => rpc.asked.get('eth_estimateGas') ?? 0;
  const before = asked();
  await until('the chain to be asked in vain', async () => asked() >= before + 4, patienceMs);
  // Whoever stands behind the forty in one line comes when each of them was tried in vain.
  const isBehindNobody = async () => {
    const { open, tried } = await lookAtBase();
    expect(open).toBe(count);
    expect(tried).toBeLessThan(count);
  };
  const other = await withdraw(service, grace, 'MATIC', 20);
  const { email } = await service.client.register();
  await deposit(service, grace, 'ARB', 30_000_000n);
  await isComplete(other.id);
  await isBehindNobody();
  await until('the mail', async () => said.some((line) => line.includes(email)), patienceMs);
  await isBehindNobody();
  await isSwept('ARB');
  await isBehindNobody();
  for (const { to } of silent) expect(await chains.balanceOf('BASE', 'USDC', to)).toBe(0n);

  rpc.misbehave(() => undefined);
  for (const { id } of silent) await isComplete(id);
  for (const { id, to } of [...silent, other]) {
    expect(await chains.balanceOf(id === other.id ? 'MATIC' : 'BASE', 'USDC', to), id).toBe(await netOf(id));
  }
  const rows = await until('the reserves to be told anew', async () => {
    const { reserves } = (await service.client.get('/reserves')).body;
    const isStill = (reserves as { inFlight: string | null }[]).every(({ inFlight }) => inFlight === '0');
    return isStill && (reserves as { difference: string }[]);
  });
  expect(rows.filter(({ difference }) => difference !== '0')).toEqual([]);
});

/** Where they have a wallet, so that it stays there. */
async function deposit({ client }: Service, { key }: TestAccount, chain: ChainId, atomic: bigint): Promise<void> {
  const { body } = await client.post('/cross-chain/wallet', { blockchain: chain }, key);
  await chains.mint(chain, 'USDC', body.address, atomic);
}

function isSwept(chain: ChainId) {
  return until(
    `what was deposited on ${chain} to be swept`,
    async () => {
      const { rows } = await db.query<{ done: boolean }>(
        `SELECT d.swept_at IS NOT NULL AND s.status = 'complete' AS done
           FROM deposits d LEFT JOIN sweeps s ON s.id = d.sweep_id WHERE d.chain = $1 AND d.account_id IS NOT NULL`,
        [chain],
      );
      return rows.length > 0 && rows.every(({ done }) => done);
    },
    patienceMs,
  );
}

async function withdraw({ client }: Service, { key }: TestAccount, chain: ChainId, amount: number) {
  const to = stranger();
  const { status, body } = await client.post('/circle/withdraw', { amount, chain, address: to }, key);
  expect(status).toBe(200);
  return { id: String(body.txId), to };
}

async function lookAtBase(): Promise<{ readonly open: number; readonly tried: number }> {
  return onlyRow(
    await db.query<{ open: number; tried: number }>(
      `SELECT count(*)::int AS open, (count(waits_for) FILTER (WHERE status = 'sending'))::int AS tried FROM withdrawals
        WHERE chain = 'BASE' AND finished_at IS NULL`,
    ),
  );
}

function isComplete(id: string) {
  return until(
    `${id} to be complete`,
    async () => {
      const { rows } = await db.query("SELECT FROM withdrawals WHERE id = $1 AND status = 'complete'", [id]);
      return rows.length > 0;
    },
    patienceMs,
  );
}

async function netOf(id: string): Promise<bigint> {
  const { rows } = await db.query<{ net: string }>('SELECT net FROM withdrawals WHERE id = $1', [id]);
  return BigInt(rows[0]?.net ?? -1);
}
