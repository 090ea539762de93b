import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect } from 'vitest';
import { agentOf } from '../support/agents.ts';
import { violations } from '../support/axe.ts';
import { listenHttp } from '../support/listening.ts';
import { memoryProvider } from '../support/oauth.ts';
import { describeInBrowser, inEveryLook, tooWide } from '../support/pages.ts';
import { useService } from '../support/service.ts';

const service = useService();

/** A program on the person's computer that waits for the answer of the browser. */
async function openProgram() {
  const answers: URLSearchParams[] = [];
  const { port, close } = await listenHttp((request, response) => {
    answers.push(new URL(request.url ?? '', 'http://127.0.0.1').searchParams);
    response.end('You may close this window.');
  });
  return { redirectUri: `http://127.0.0.1:${port}/callback`, answers, close };
}

describeInBrowser('connecting a client', (open) => {
  inEveryLook(
    'the official client pays within its limits, on a $size, $colorScheme',
    async ({ viewport, colorScheme }) => {
      const owner = await service.client.register({ name: 'Ada' });
      const friend = await service.client.register({ name: 'Grace' });
      await service.client.post('/sandbox/fund', { amount: 100 }, owner.key);
      const program = await openProgram();
      let authorization = '';
      const provider = memoryProvider(async ({ href }) => {
        authorization = href;
      }, program.redirectUri);
      const transport = () =>
        new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`), { authProvider: provider });
      const first = transport();
      await expect(new Client({ name: 'x', version: '1' }).connect(first)).rejects.toThrow();

      const { page, trouble, foreignTo } = await open(authorization, { viewport, colorScheme });
      await page.fill('#email', owner.email);
      await page.fill('#password', owner.password);
      await page.click('main .button');
      await page.waitForURL('**/oauth/authorize?**');
      expect(await page.locator('h1').innerText()).toBe('Connect “Official client”?');
      expect(await tooWide(page)).toEqual([]);
      expect(await violations(page, 'everything')).toEqual([]);
      await page.fill('#day', '5');
      await page.check('input[name=beyond][value=deny]');
      expect(await trouble()).toEqual([]);
      expect(await foreignTo(service.url)).toEqual([]);
      await page.click('text="Connect"');
      await page.waitForURL(`${program.redirectUri}?**`);

      const [answer] = program.answers;
      expect(answer?.get('iss')).toBe(service.url);
      await first.finishAuth(answer ?? new URLSearchParams());
      const client = new Client({ name: 'x', version: '1' });
      await client.connect(transport());
      const agent = agentOf(client);
      const pay = (amount: number) => agent.call('send_money', { to: friend.handle, amount, currency: 'USDC' });
      expect((await pay(3)).structuredContent).toMatchObject({ status: 'complete' });
      expect((await pay(4)).structuredContent).toMatchObject({ code: 'budget_exceeded' });

      await page.goto(`${service.url}/app/keys`);
      await page.click('text=Official client');
      await page.click('text=Disconnect this client');
      expect(await violations(page, 'everything')).toEqual([]);
      await page.click('button:text("Disconnect")');
      await page.waitForURL('**/app/keys');
      await expect(agent.call('get_balance')).rejects.toThrow();
      await agent.close();
      await program.close();
    },
  );
});
