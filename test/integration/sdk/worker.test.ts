import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import { signatureHeaders } from '../../../src/webhooks/sign-webhook.ts';
import { useService } from '../../support/service.ts';

const service = useService();
const support = (name: string) => new URL(`../../support/${name}`, import.meta.url);

async function bundled(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(support('sdk-program.js'))],
    bundle: true,
    platform: 'neutral',
    format: 'iife',
    globalName: 'program',
    write: false,
  });
  return outputFiles[0]?.text ?? '';
}

test('everything runs in a worker that has nothing of Node', async () => {
  const [{ key: payer }, { handle: to }] = await Promise.all([service.client.register(), service.client.register()]);
  await service.client.post('/sandbox/fund', { amount: 10 }, payer);
  const body = '{"id":"evt_1","type":"payment.sent"}';
  const timestampSeconds = Math.floor(Date.now() / 1_000);
  const signed = signatureHeaders('secret', { id: 'evt_1', timestampSeconds, body });
  const headers = { 'webhook-id': 'evt_1', 'webhook-timestamp': String(timestampSeconds), ...signed };
  const given = { baseUrl: `${service.url}/api`, payer, to, webhook: { body, headers, secret: 'secret' } };
  const worker = new Worker(support('bare-worker.mjs'), { workerData: { code: await bundled(), given } });
  const told = await new Promise<string>((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  }).finally(() => worker.terminate());
  const { paid, listed, ...rest } = JSON.parse(told);
  expect(paid).toMatchObject({ status: 'complete', amount: 1 });
  expect(listed).toContain(paid.transferId);
  expect(rest).toMatchObject({
    ofNode: [],
    events: expect.arrayContaining(['result', 'done']),
    bought: { paid: 0.0001, answer: { amount: 10 } },
    refused: 'possible_duplicate',
    type: 'payment.sent',
  });
});
