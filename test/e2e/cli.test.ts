import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { useCli } from '../support/cli.ts';
import { asShown, connect } from '../support/oauth.ts';
import { openOwnerBrowser } from '../support/owner.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';

const service = useService();
const cli = useCli();
const loginFile = () => join(cli.config, 'paywright', 'login.json');

async function funded(amount = 100) {
  const account = await service.client.register();
  await service.client.post('/sandbox/fund', { amount }, account.key);
  const env = { PAYWRIGHT_URL: service.url, PAYWRIGHT_API_KEY: account.key };
  /** With --json, which must be all that is on standard output. */
  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await cli.run([...args, '--json'], { env });
    expect(stdout + stderr).not.toContain(account.key);
    return { code, stderr, value: JSON.parse(stdout) };
  };
  return { ...account, env, json };
}

describe('login', () => {
  it('stores a verified key for this user only, and logout forgets it', async () => {
    const { key, handle } = await service.client.register();
    const before = await cli.run(['balance', '--json']);
    expect([before.code, JSON.parse(before.stdout).code]).toEqual([3, 'not_signed_in']);

    const login = await cli.run(['login', '--url', `${service.url}/api`], { stdin: `${key}\n` });
    expect([login.code, login.stderr]).toEqual([0, '']);
    expect(login.stdout).toContain(handle);
    expect(login.stdout).not.toContain(key);
    expect(statSync(loginFile()).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(loginFile(), 'utf8'))).toEqual({ url: service.url, apiKey: key, handle });
    expect((await cli.run(['balance'])).stdout).toBe('USDC  0\nEURC  0\n');

    // A stored key goes nowhere else.
    const elsewhere = await cli.run(['balance'], { env: { PAYWRIGHT_URL: 'http://127.0.0.1:9' } });
    expect(elsewhere.code).toBe(3);

    chmodSync(loginFile(), 0o644);
    const repaired = await cli.run(['balance']);
    expect([repaired.code, repaired.stderr]).toEqual([0, expect.stringContaining('could be read by other users')]);
    expect(statSync(loginFile()).mode & 0o777).toBe(0o600);

    const other = await service.client.register();
    const won = await cli.run(['whoami', '--json'], { env: { PAYWRIGHT_API_KEY: other.key } });
    expect(JSON.parse(won.stdout).handle).toBe(other.handle);

    expect((await cli.run(['logout'])).code).toBe(0);
    expect((await cli.run(['balance'])).code).toBe(3);
    expect((await cli.run(['logout'])).code).toBe(0);
  });

  it('takes the key from a file, and stores none that the service refuses', async () => {
    const { key } = await service.client.register();
    const file = join(cli.config, 'key');
    writeFileSync(file, `${key}\n`);
    expect((await cli.run(['login', '--url', service.url, '--key-file', file, '--json'])).code).toBe(0);
    const wrong = await cli.run(['login', '--url', service.url], {
      stdin: 'pa_live_0000000000000000000000000000000000000000',
    });
    expect(wrong.code).toBe(3);
    expect((await cli.run(['login', '--url', service.url], { stdin: 'password' })).code).toBe(2);
    expect(JSON.parse(readFileSync(loginFile(), 'utf8')).apiKey).toBe(key);
    await cli.run(['logout']);
  });
});

describe('login in the browser', () => {
  /** Starts the command, and returns where it sends the browser. */
  async function begin() {
    const started = cli.beginCommand(['login', '--browser', '--url', service.url], { BROWSER: 'true' });
    const query = await until('the address', async () => /\/oauth\/authorize\?(\S+)\n/.exec(started.texts.stderr)?.[1]);
    return { ...started, query };
  }

  it('gets a key with what the owner has chosen', async () => {
    const owner = await service.client.register();
    const browser = openOwnerBrowser(service.url);
    await browser.signIn(owner);
    const { query, ended, texts } = await begin();
    const answer = await connect(browser, query, { ...asShown, 'scope-withdraw': 'on' });
    const forged = new URL(answer);
    forged.searchParams.set('state', 'another');
    expect((await fetch(forged)).status).toBe(404);
    // Not even a path that no URL can be made of ends the command.
    expect((await fetch(`${answer.origin}//`)).status).toBe(404);
    expect(await (await fetch(answer)).text()).toContain('You can close this window');
    expect([await ended, texts.stdout]).toEqual([0, expect.stringContaining(owner.handle)]);
    const { apiKey } = JSON.parse(readFileSync(loginFile(), 'utf8'));
    const { body } = await service.client.get('/account/keys', apiKey);
    expect(body.keys[0]).toMatchObject({
      name: 'The paywright command',
      client: null,
      last4: apiKey.slice(-4),
      scopes: ['read', 'pay', 'withdraw'],
      current: true,
    });
    expect((await cli.run(['balance'])).code).toBe(0);
    await cli.run(['logout']);
  });

  it('ends when the owner says no', async () => {
    const owner = await service.client.register();
    const browser = openOwnerBrowser(service.url);
    await browser.signIn(owner);
    const { query, ended, texts } = await begin();
    expect((await fetch(await connect(browser, query, { decision: 'cancel' }))).status).toBe(200);
    expect([await ended, texts.stderr]).toEqual([4, expect.stringContaining('The owner said no.')]);
  });
});

describe('a payment', () => {
  it('is made once for one key, and not repeated by mistake', async () => {
    const ada = await funded();
    const bob = await service.client.register({ name: 'Bob' });
    const sent = await ada.json('send', bob.handle, '5', 'USDC', '--description', 'map', '--idempotency-key', 'one');
    expect(sent).toMatchObject({ code: 0, value: { status: 'complete', amount: 5 }, stderr: 'Idempotency-Key: one\n' });
    const replayed = await ada.json(
      'send',
      bob.handle,
      '5',
      'USDC',
      '--description',
      'map',
      '--idempotency-key',
      'one',
    );
    expect(replayed.value).toEqual(sent.value);

    const repeated = await ada.json('send', bob.handle, '5', 'USDC');
    expect(repeated).toMatchObject({
      code: 4,
      value: { code: 'possible_duplicate', status: 409, duplicateOf: { id: sent.value.transferId } },
    });
    expect(repeated.stderr).toContain(`--not-duplicate-of ${sent.value.transferId}`);
    const meant = await ada.json('send', bob.handle, '5', 'USDC', '--not-duplicate-of', sent.value.transferId);
    expect(meant.code).toBe(0);
    expect((await ada.json('balance')).value).toMatchObject({ USDC: '90' });

    const { stdout } = await cli.run(['history'], { env: ada.env });
    expect(stdout.split('\n')[1]).toContain(`-5  USDC      transfer  ${bob.handle}`);
  });

  it('waits for the owner where a rule says so, with the link and exit code 4', async () => {
    const ada = await funded();
    const bob = await service.client.register();
    const { body: agent } = await service.client.post(
      '/account/keys',
      { name: 'agent', scopes: ['read', 'pay'] },
      ada.key,
    );
    const put = await service.client.request('PUT', `/account/keys/${agent.id}/policy`, {
      key: ada.key,
      body: { budgets: [{ id: 'daily', currency: 'USDC', amount: '1', window: 'day', onExceed: 'ask' }] },
    });
    expect(put.status, JSON.stringify(put.body)).toBe(200);
    const env = { ...ada.env, PAYWRIGHT_API_KEY: agent.apiKey };
    const asked = await cli.run(['send', bob.handle, '5', 'USDC', '--note', 'for the map'], { env });
    expect([asked.code, asked.stdout]).toEqual([4, expect.stringContaining('/approve/apr_')]);
    const asJson = await cli.run(['send', bob.handle, '5', 'USDC', '--note', 'for the map', '--json'], { env });
    expect([asJson.code, JSON.parse(asJson.stdout).status]).toEqual([4, 'approval_required']);
    expect((await ada.json('balance')).value.USDC).toBe('100');
  });

  it('of an invoice and of a URL', async () => {
    const ada = await funded();
    const bob = await funded();
    const invoice = await bob.json('invoice', 'create', '3', 'USDC', 'A map', '--to-handle', ada.handle);
    expect(invoice).toMatchObject({ code: 0, value: { status: 'pending' } });
    expect((await ada.json('invoice', 'list')).value.invoices).toHaveLength(1);
    expect((await ada.json('invoice', 'pay', invoice.value.id)).value.status).toBe('paid');
    expect((await bob.json('invoice', 'cancel', invoice.value.id)).code).toBe(4);
    expect((await bob.json('invoice', 'show', invoice.value.id)).value.status).toBe('paid');

    const { body: sandbox } = await service.client.get('/sandbox');
    const paid = await cli.run(['pay', sandbox.demoSeller.url, '--max', '1'], { env: ada.env });
    expect([paid.code, paid.stderr]).toEqual([0, expect.stringMatching(/Paid: 0\.\d+ USDC/)]);
  });
});

describe('exit codes', () => {
  it('are those of the outcome when nobody reads the output', async () => {
    const ada = await funded(1);
    for (const stream of ['stdout', 'stderr'] as const) {
      const { child, ended } = cli.beginCommand(['send', 'PA-AAAAAAAA', '5', 'USDC', '--json'], ada.env);
      child[stream]?.destroy();
      expect(await ended, stream).toBe(4);
    }
  });

  it('are 1 where a seller answers with an error', async () => {
    const free = {
      status: 500,
      headers: {},
      body: 'broken',
      encoding: 'utf8',
      truncated: false,
      paid: 0,
      payment: null,
    };
    const server = createServer((_, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(free));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const env = {
      PAYWRIGHT_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      PAYWRIGHT_API_KEY: 'pa_live_x',
    };
    const failed = await cli.run(['pay', 'https://seller.example/', '--max', '1', '--json'], { env });
    expect([failed.code, JSON.parse(failed.stdout)]).toEqual([1, free]);
  });

  it('are 1 without an answer, 2 for wrong use and 4 for a refusal', async () => {
    const ada = await funded(1);
    const lost = await cli.run(['balance', '--json'], { env: { ...ada.env, PAYWRIGHT_URL: 'http://127.0.0.1:9' } });
    expect([lost.code, JSON.parse(lost.stdout).code]).toEqual([1, 'connection_lost']);
    for (const args of [
      ['send', 'PA-AAAAAAAA'],
      ['send', 'PA-AAAAAAAA', '1', 'BTC'],
      ['blance'],
      ['balance', '--nothing'],
      ['pay', 'http://127.0.0.1:1'],
      ['check-budget', '--operation', 'transfer', '--request', 'x'],
      ['trigger', 'payment.lost'],
      ['listen', '--forward-to', 'ftp://127.0.0.1'],
    ]) {
      const { code, value } = await ada.json(...args);
      expect([code, value.code], args.join(' ')).toEqual([2, 'usage']);
    }
    const refused = await ada.json('send', 'PA-AAAAAAAA', '1', 'USDC');
    expect([refused.code, refused.value.code]).toEqual([4, 'recipient_not_found']);
    const human = await cli.run(['send', 'PA-AAAAAAAA', '1', 'USDC'], { env: ada.env });
    expect([human.code, human.stdout]).toEqual([4, '']);
    expect(JSON.parse(human.stderr.trim().split('\n').at(-1) ?? '').code).toBe('recipient_not_found');
  });

  it('are 3 for a key that was revoked', async () => {
    const ada = await funded();
    await service.client.post('/account/revoke-key', undefined, ada.key);
    expect(await ada.json('balance')).toMatchObject({ code: 3, value: { code: 'unauthorized', status: 401 } });
  });
});

describe('trigger', () => {
  it('makes each event happen that it lists', async () => {
    const ada = await funded();
    const { cursor } = (await service.client.post('/account/events', undefined, ada.key)).body;
    const { events } = (await ada.json('trigger')).value;
    expect(events.length).toBeGreaterThan(10);
    for (const event of events) expect(await ada.json('trigger', event), event).toMatchObject({ code: 0 });
    await until('all events', async () => {
      const { body } = await service.client.get(`/account/events?after=${cursor}&limit=100`, ada.key);
      const seen = new Set(body.events.map(({ type }: { type: string }) => type));
      return events.every((event: string) => seen.has(event));
    });
  }, 240_000);

  it('refuses a service that is live', async () => {
    const live = createServer((_request, response) => {
      response.writeHead(404, { 'content-type': 'application/problem+json' });
      response.end(JSON.stringify({ code: 'not_found', status: 404, detail: 'There is no such endpoint.' }));
    });
    await new Promise<void>((resolve) => live.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void live.close());
    const url = `http://127.0.0.1:${(live.address() as AddressInfo).port}`;
    const env = { PAYWRIGHT_URL: url, PAYWRIGHT_API_KEY: 'pa_live_1' };
    const { code, stdout } = await cli.run(['trigger', 'payment.received', '--json'], { env });
    expect([code, JSON.parse(stdout).code]).toEqual([4, 'not_a_sandbox']);
  });
});

describe('help and completion', () => {
  it('group the commands of users and operators', async () => {
    const { code, stdout } = await cli.run(['--help']);
    expect(code).toBe(0);
    expect(stdout.match(/^[A-Z][\w ]+:$/gm)).toEqual([
      'Options:',
      'Your money:',
      'More of your account:',
      'For developers:',
      'Operating the service:',
    ]);
    expect(stdout).toMatch(/^ {2}send <to> <amount> <currency> +send money$/m);
    expect(stdout).toMatch(/^ {2}start +serve requests and run jobs in one process$/m);
    expect((await cli.run(['send', '--help'])).stdout).toContain('--not-duplicate-of <id>');
    expect((await cli.run([])).code).toBe(2);
  });

  it('complete commands, their arguments and options in bash', async () => {
    const script = (await cli.run(['completion', 'bash'])).stdout;
    const complete = (...words: string[]) =>
      execFileSync(
        'bash',
        [
          '--norc',
          '-c',
          `${script}\nCOMP_WORDS=(paywright "$@"); COMP_CWORD=$#; _paywright; echo "\${COMPREPLY[*]}"`,
          'bash',
          ...words,
        ],
        { encoding: 'utf8' },
      ).trim();
    expect(complete('bal')).toBe('balance');
    expect(complete('invoice', '')).toMatch(/^create list pay show cancel /);
    expect(complete('send', 'PA-AAAAAAAA', '5', 'EU')).toBe('EURC');
    expect(complete('send', '--desc')).toBe('--description');
    expect(complete('trigger', 'payment.r')).toBe('payment.received');
    expect(complete('treasury', 'rot')).toBe('rotate-seed');
    for (const shell of ['zsh', 'fish']) expect((await cli.run(['completion', shell])).stdout).toContain('paywright');
  });
});
