import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createPublicClient } from 'viem';
import { expect, it, onTestFinished } from 'vitest';
import { redactingHttp } from './redacting-transport.ts';

it('gives up on a node that stalls in the middle of its answer', async () => {
  const server = createServer((_, response) => void response.write('{"jsonrpc":"2.0",'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v2/topsecretkey`;
  const client = createPublicClient({ transport: redactingHttp(url, 500) });
  const error: Error = await client.getChainId().then(
    () => new Error('it answered'),
    (reason: Error) => reason,
  );
  expect(error.message).toMatch(/stopped in the middle|timed out/);
  expect(error.message).not.toContain('topsecretkey');
}, 30_000);
