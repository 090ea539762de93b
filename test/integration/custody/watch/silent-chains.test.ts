import { expect, test } from 'vitest';
import { type ChainId, chainIds } from '../../../../src/money/catalogue.ts';
import { stranger } from '../../../contract/workbench.ts';
import { useService } from '../../../support/service.ts';
import { until } from '../../../support/until.ts';

/** Nobody watches the chains here but this test: they are as silent as it says. */
const service = useService({ roles: { serve: true, work: false } });

async function heardFrom(...chains: readonly ChainId[]): Promise<void> {
  const { db } = service.database;
  await db.query(
    `INSERT INTO chain_cursors (chain, block_number, block_hash, read_at)
     SELECT chain, 1, '0x', now() - CASE WHEN chain = ANY ($2) THEN interval '0' ELSE interval '2 minutes' END FROM unnest($1::text[]) chain
     ON CONFLICT (chain) DO UPDATE SET read_at = excluded.read_at`,
    [chainIds, chains],
  );
  const expected = chainIds.filter((chain) => !chains.includes(chain));
  await until('the service to notice', async () => {
    const { away } = await ready();
    return JSON.stringify(away?.chains ?? []) === JSON.stringify(expected);
  });
}

async function ready() {
  const reply = await fetch(`${service.url}/ready`);
  expect(reply.status).toBe(200);
  return (await reply.json()) as { status: string; checks: Record<string, string>; away?: { chains: string[] } };
}

test('a chain that is silent is named, and only what needs it is refused', async () => {
  const { client } = service;
  const [ada, grace] = [await client.register(), await client.register()];
  const withdraw = (chain: ChainId) =>
    client.post('/circle/withdraw', { amount: 1, chain, address: stranger() }, ada.key);
  const bridge = (from: ChainId, to: ChainId) =>
    client.post('/cross-chain/transfer', { from, to, amount: '1' }, ada.key);
  const swap = () => client.post('/swap/execute', { from: 'USDC', to: 'DAI', amount: '1' }, ada.key);
  const silent = { status: 503, body: { code: 'chain_not_available' } };
  // Nobody has any money here: whoever is told so was let through.
  const letThrough = { status: 400, body: { code: 'insufficient_balance' } };

  await heardFrom('MATIC', 'ETH', 'ARB', 'AVAX', 'OP');
  expect(await ready()).toMatchObject({ status: 'ready', checks: { database: 'ok', chains: 'impaired' } });
  const refused = await withdraw('BASE');
  expect(refused).toMatchObject(silent);
  expect(refused.body.detail).toContain('Base has not responded for a minute');
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await bridge('MATIC', 'BASE')).toMatchObject(silent);
  expect(await bridge('BASE', 'MATIC')).toMatchObject(silent);
  expect(await withdraw('MATIC')).toMatchObject(letThrough);
  expect(await bridge('MATIC', 'ARB')).toMatchObject(letThrough);
  expect(await swap()).toMatchObject(letThrough);

  await heardFrom('BASE');
  expect(await withdraw('BASE')).toMatchObject(letThrough);
  expect(await withdraw('MATIC')).toMatchObject(silent);
  expect(await swap()).toMatchObject(silent);
  const transfer = await client.post('/agent/transfer', { to: grace.handle, amount: 1, currency: 'USDC' }, ada.key);
  expect(transfer).toMatchObject(letThrough);
  expect((await client.get('/circle/deposit-address?chain=MATIC', ada.key)).status).toBe(200);

  await heardFrom(...chainIds);
  expect(await ready()).toMatchObject({ checks: { chains: 'ok' } });
});
