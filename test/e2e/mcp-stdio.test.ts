import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { beforeEach, describe, expect, test } from 'vitest';
import { agentOf, type McpAgent } from '../support/agents.ts';
import type { TestAccount } from '../support/client.ts';
import { useService } from '../support/service.ts';

const service = useService();

let owner: TestAccount;
let friend: TestAccount;

beforeEach(async () => {
  owner = await service.client.register();
  friend = await service.client.register();
  expect((await service.client.post('/sandbox/fund', { amount: 100 }, owner.key)).status).toBe(200);
});

const program = fileURLToPath(new URL('../../bin/paywright.mjs', import.meta.url));
const command = (key: string, url = service.url) => ({
  command: process.execPath,
  args: [program, 'mcp'],
  env: { ...(process.env as Record<string, string>), PAYWRIGHT_URL: url, PAYWRIGHT_API_KEY: key },
  stderr: 'ignore' as const,
});
const who = { name: 'test-agent', version: '1' };

const eras: Record<string, (key: string, url?: string) => Promise<McpAgent>> = {
  async '2026-07-28'(key, url) {
    const client = new Client(who, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
    await client.connect(new StdioClientTransport(command(key, url)));
    return agentOf(client);
  },
  async 'with a handshake'(key, url) {
    const client = new Client(who, { versionNegotiation: { mode: 'legacy' } });
    await client.connect(new StdioClientTransport(command(key, url)));
    return agentOf(client);
  },
  async 'sdk 1.x'(key, url) {
    const client = new OlderClient(who);
    await client.connect(new OlderTransport(command(key, url)) as never);
    return agentOf(client);
  },
};

describe.each(Object.entries(eras))('over stdio, a client of protocol %s', (_era, connect) => {
  test('lists the tools, pays once and waits', async () => {
    const agent = await connect(owner.key);
    expect(await agent.tools()).toHaveLength(20);
    const payment = { to: friend.handle, amount: 5, currency: 'USDC' };
    const paid = await agent.call('send_money', payment);
    expect(paid.structuredContent).toMatchObject({ status: 'complete', amount: 5 });
    expect(await agent.call('send_money', payment)).toMatchObject({
      isError: true,
      structuredContent: { code: 'possible_duplicate' },
    });
    const waited = await agent.call('wait_for', { id: paid.structuredContent.transferId });
    expect(waited.structuredContent).toMatchObject({ final: true });
    // The service does answer, so the agent is not told to call again.
    expect((await service.client.post('/account/revoke-key', {}, owner.key)).status).toBe(200);
    const refused = await agent.call('get_balance');
    expect(refused).toMatchObject({ isError: true, structuredContent: { code: 'unauthorized' } });
    expect(refused.structuredContent.nextStep).toMatch(/^Ask the owner/);
    await agent.close();
  });
});

test('a wrong key fails the connection with the reason, and never shows the key', async () => {
  const key = `pa_live_${'x'.repeat(43)}`;
  const error = await eras['with a handshake']?.(key).then(
    () => new Error('connected'),
    (reason: Error) => reason,
  );
  expect(error?.message).toMatch(/key/i);
  expect(error?.message).not.toContain(key);
});
