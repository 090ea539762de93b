import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { signatureHeaders } from '../../../src/webhooks/sign-webhook.ts';
import { useService } from '../../support/service.ts';

const service = useService();

/** What a worker of another runtime does not have. */
const ofNode = ['process', 'Buffer', 'global', 'setImmediate', 'queueMicrotask', 'performance'];

test('everything runs in a worker that has nothing of Node', async () => {
  const [{ key: payer }, { handle: to }] = await Promise.all([service.client.register(), service.client.register()]);
  await service.client.post('/sandbox/fund', { amount: 10 }, payer);
  const body = '{"id":"evt_1","type":"payment.sent"}';
  const timestampSeconds = Math.floor(Date.now() / 1_000);
  const headers = {
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(timestampSeconds),
    ...signatureHeaders('secret', { id: 'evt_1', timestampSeconds, body }),
  };
  const worker = new Worker(new URL('../../support/bare-worker.mjs', import.meta.url), {
    workerData: {
      sdk: new URL('../../../packages/sdk/src/index.js', import.meta.url).href,
      baseUrl: `${service.url}/api`,
      payer,
      to,
      webhook: { body, headers, secret: 'secret' },
    },
  });
  const told = await new Promise<{ removed: string[]; paid: { transferId: string } }>((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
  await worker.terminate();
  expect(told.removed).toEqual(expect.arrayContaining(ofNode));
  expect(told).toMatchObject({
    paid: { status: 'complete', amount: 1 },
    listed: expect.arrayContaining([told.paid.transferId]),
    events: expect.arrayContaining(['result', 'done']),
    bought: { paid: 0.0001, answer: { amount: 10 } },
    refused: 'possible_duplicate',
    type: 'payment.sent',
  });
});
