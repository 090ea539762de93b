// @module-tag thorough
import { expect, onTestFinished, test, vi } from 'vitest';
import { main } from '../../../../src/app/cli.ts';
import { useChains } from '../../../support/chains.ts';
import { openShopfront, pay, receiptsOf } from '../../../support/nano.ts';
import { startService, useStartedDatabase } from '../../../support/service.ts';
import { startUnrulyRpc } from '../../../support/unruly-rpc.ts';
import { until } from '../../../support/until.ts';

const database = useStartedDatabase();
const { db } = database;
const chains = useChains(database);

/** As the service does by itself a minute later. */
async function readAgain(): Promise<void> {
  vi.stubEnv('DATABASE_URL', database.url);
  const said = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  const { rows } = await db.query<{ blockNumber: bigint }>(
    "SELECT block_number FROM chain_cursors WHERE chain = 'MATIC'",
  );
  const to = String(rows[0]?.blockNumber);
  await main(['node', 'paywright', 'deposits', 'read', '--chain', 'MATIC', '--from', '1', '--to', to], process.ppid);
  said.mockRestore();
  vi.unstubAllEnvs();
}

test('a payer whose payment has moved owes nothing while the logs of it are late, and it is earned when they come', async () => {
  const settings = chains.local.settings.get('MATIC');
  if (settings === undefined) throw new Error('Polygon is not running');
  const node = await startUnrulyRpc('MATIC', settings);
  await db.query("UPDATE sandbox.chains SET url = $1 WHERE chain = 'MATIC'", [node.url]);
  const service = await startService(database, {
    env: { NANO_PAYER_PER_MINUTE: '0' },
    settings: { nano: { settleSeconds: 1 } },
  });
  onTestFinished(() => service.stop());
  const { client } = service;
  const shop = await openShopfront(database);
  const payer = await shop.payer(200n);

  // A node that has the blocks and their state, and not yet the logs about this wallet.
  const hidden = payer.address.toLowerCase().slice(2);
  node.misbehave(({ method }) =>
    method === 'eth_getLogs'
      ? (logs: { topics: string[] }[]) => logs.filter(({ topics }) => !topics.some((topic) => topic.includes(hidden)))
      : undefined,
  );
  const reply = await pay(client, payer);
  expect(reply.status).toBe(200);
  const { paymentId } = receiptsOf(reply).second;
  await until('the settlement to end without it', async () => {
    const { rows } = await db.query(
      `SELECT FROM settlements s, payment_claims c WHERE s.finished_at IS NOT NULL AND c.id = $1
          AND (c.settlement_id IS NULL OR c.written_off_at IS NOT NULL)`,
      [paymentId],
    );
    return rows.length > 0;
  });
  expect(await shop.held(payer.address)).toBe(100n);
  expect((await client.get(`/nano/payments/${paymentId}`)).body.status).not.toBe('written_off');
  expect(await client.get(`/nano/debt/${payer.address}`)).toMatchObject({ status: 200, body: { debt: '0' } });

  // What has moved is not counted twice: there is enough for another call.
  expect((await pay(client, payer)).status).toBe(200);

  node.misbehave(() => undefined);
  await readAgain();
  await until('it to be settled', async () => {
    const { body } = await client.get(`/nano/payments/${paymentId}`);
    return body.status === 'settled';
  });
  await until('both to be settled', async () => (await shop.held(payer.address)) === 0n);
  expect(await client.get(`/nano/debt/${payer.address}`)).toMatchObject({ status: 200, body: { debt: '0' } });
});
