import { expect, test } from 'vitest';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { stranger } from '../contract/workbench.ts';
import { complaintsAbout } from '../emulators/circle/published.ts';
import { useCircleWorld } from '../support/circle-world.ts';
import { useDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
const world = useCircleWorld(database);

test('a withdrawal at Circle survives the end of its process, and is paid once', async () => {
  const { chains, emulator } = world;
  const to = stranger();
  const first = await world.start('withdrawal.taken');
  const { key } = await first.client.register();
  const { depositAddress } = (await first.client.get('/account', key)).body;
  await chains.mint('MATIC', 'USDC', depositAddress, 100_000_000n);
  await until('the deposit to be swept', async () => {
    const { rows } = await database.db.query('SELECT FROM deposits WHERE swept_at IS NOT NULL');
    return rows.length > 0;
  });
  const opened = await first.client.post('/circle/withdraw', { amount: 60, address: to }, key);
  expect(opened.status).toBe(200);
  expect(await first.ended).toBe('SIGKILL');

  const last = await world.start('never');
  await until('the withdrawal to be complete', async () => {
    const { body } = await last.client.get(`/circle/withdrawals/${opened.body.txId}`, key);
    return body.status === 'complete';
  });
  expect(await chains.balanceOf('MATIC', 'USDC', to)).toBe(59_106_000n);
  const paid = [...emulator.transactions.all.values()].filter(
    ({ described }) => described['destinationAddress'] === to,
  );
  expect(paid).toHaveLength(1);
  expect((await last.client.get('/circle/balance', key)).body.USDC).toBe('40');
  await verifyLedger(database.db);
  await until('the books and the chains to agree', async () => {
    const { body } = await last.client.get('/reserves');
    return body.reserves.every(({ difference }: { difference: string }) => difference === '0');
  });
  expect(complaintsAbout(emulator.exchanges)).toEqual([]);
}, 180_000);
