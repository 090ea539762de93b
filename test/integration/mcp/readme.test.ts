import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { connectWith } from '../../support/agents.ts';
import { codeOf, readPage, runProgram, section } from '../../support/docs-code.ts';
import { useService } from '../../support/service.ts';

const service = useService();

describe('the README', () => {
  const text = section(readPage('README.md'), 'With MCP');
  const [code = ''] = codeOf(text, 'js');
  const [settings = ''] = codeOf(text, 'json');

  test('leads from a clone to a first payment of an MCP client in three commands', () => {
    const prose = text.replace(/```[\s\S]*?```/g, '');
    const commands = [...prose.matchAll(/`((?:npm|node|npx|claude|curl) [^`]+)`/g)].map(([, command]) => command);
    expect(commands).toEqual(['npm start', 'node settings.mjs', 'claude "Send 5 USDC to grace@example.com"']);
  });

  test('has a program that writes the settings, which connect a client that pays', async () => {
    const { folder } = await runProgram(code, service.url);
    const written = readFileSync(join(folder, '.mcp.json'), 'utf8');
    const { paywright } = JSON.parse(written).mcpServers;
    const key = paywright.headers.Authorization.replace('Bearer ', '');
    // What the README shows, but for the key and the address of this service.
    expect(written.replace(key, 'pa_live_…').replace(service.url, 'http://127.0.0.1:8402')).toBe(settings.trim());

    const agent = await connectWith(paywright);
    const paid = await agent.call('send_money', { to: 'grace@example.com', amount: 5, currency: 'USDC' });
    expect(paid.structuredContent).toMatchObject({ status: 'complete', amount: 5 });
    const balance = await agent.call('get_balance');
    expect(balance.structuredContent).toMatchObject({ USDC: '95' });
    await agent.close();
  });
});
