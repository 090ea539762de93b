// @module-tag thorough

import { afterAll, expect, test } from 'vitest';
import { slots } from '../../../../src/app/main.ts';
import type { Network } from '../../../../src/chains/network.ts';
import { startWorker, type Worker } from '../../../../src/kernel/jobs/worker.ts';
import { wakeSaga } from '../../../../src/kernel/sagas/wake-saga.ts';
import { chains as facts } from '../../../../src/money/catalogue.ts';
import { turnsPerSource } from '../../../../src/payments/bridge/await-attestation.ts';
import { useBridgeWorld, type Way } from '../../../support/bridges.ts';
import type { User } from '../../../support/deposits.ts';
import { until } from '../../../support/until.ts';

const world = useBridgeWorld();
const { chains, database, log } = world.deposits;
const { db } = database;
const silentBridges = 20;
const atomic = 5_000_000n;

let speak = () => {};
let worker: Worker | undefined;
afterAll(async () => {
  speak();
  await worker?.stop();
});

test('bridges whose source chain is silent delay no bridge from another chain', async () => {
  const [ada, grace] = [await world.newRich('MATIC', atomic), await world.newRich('BASE', atomic)];
  const fromPolygon = await burnt(ada, { from: 'MATIC', to: 'BASE', atomic });
  const fromBase = await burnt(grace, { from: 'BASE', to: 'MATIC', atomic });
  const polygon = silence(chains.network('MATIC'));
  const many = await copyBridge(fromPolygon, silentBridges);
  // The service has seen no burn yet, so each bridge asks its source chain whether the burn is still there.
  const runner = world.runnerOf({
    networks: new Map([...chains.networks, ['MATIC', polygon.network]]),
    attestations: {
      find: async ({ domain, txHash }) => {
        const isSeen = domain === facts.BASE.domain && (await isTold(fromBase, 'its burn is not known yet'));
        if (!isSeen) return { state: 'unknown' };
        return { state: 'known', attested: await world.protocol.attested('BASE', txHash) };
      },
    },
  });
  worker = await startWorker({
    db,
    url: database.url,
    logger: log.logger,
    handlers: runner.jobs(['attestation']),
    schedules: [],
    slots,
  });
  for (const id of many) await wakeSaga(db, { saga: 'bridge', id, lane: 'attestation' });
  await until('Polygon to be asked', async () => polygon.asked() === turnsPerSource);

  await wakeSaga(db, { saga: 'bridge', id: fromBase, lane: 'attestation' });
  await until('the bridge from Base to go on', async () => (await world.look(fromBase)).status === 'minting');
  expect(polygon.asked()).toBe(turnsPerSource);
  expect(polygon.answered()).toBe(0);

  speak();
  for (const id of many) await until(`${id} to have its turn`, () => isTold(id, 'its burn is not known yet'));
});

async function burnt(user: User, way: Way): Promise<string> {
  const id = await world.open(user, way);
  await world.goOn(id, 'waiting_attestation');
  await db.query('DELETE FROM graphile_worker._private_jobs');
  return id;
}

/** Answers no question for a receipt until it is told to speak. */
function silence(network: Network) {
  const silent = new Promise<void>((resolve) => {
    speak = resolve;
  });
  const counts = { asked: 0, answered: 0 };
  const client: Network['client'] = {
    ...network.client,
    async getTransactionReceipt(which) {
      counts.asked++;
      await silent;
      const receipt = await network.client.getTransactionReceipt(which);
      counts.answered++;
      return receipt;
    },
  };
  return { network: { ...network, client }, asked: () => counts.asked, answered: () => counts.answered };
}

async function copyBridge(id: string, count: number): Promise<readonly string[]> {
  const { rows } = await db.query<{ id: string }>(
    `INSERT INTO bridges SELECT (jsonb_populate_record(b, jsonb_build_object('id', b.id || '_' || n))).*
       FROM bridges b, generate_series(1, $2) n WHERE b.id = $1 RETURNING id`,
    [id, count],
  );
  return rows.map((row) => row.id);
}

async function isTold(id: string, what: string): Promise<boolean> {
  return (await world.waitsFor(id))?.includes(what) === true;
}
