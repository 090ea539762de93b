import { existsSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { verifyWebhook } from '#sdk';
import { useCli } from '../support/cli.ts';
import type { TestAccount } from '../support/client.ts';
import { freePort } from '../support/process.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';

const service = useService();
const cli = useCli();
const receiverScript = fileURLToPath(new URL('../support/event-receiver.mjs', import.meta.url));

interface Received {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** An account that listens with a receiver, each a process that can be killed and started again. */
async function world() {
  const port = await freePort();
  const file = join(mkdtempSync(join(tmpdir(), 'paywright-listen-')), 'received');
  const account = await service.client.register();
  await service.client.post('/sandbox/fund', { amount: 10_000 }, account.key);
  const env = { PAYWRIGHT_URL: service.url, PAYWRIGHT_API_KEY: account.key };
  const target = `http://127.0.0.1:${port}/hook`;
  const startReceiver = async () => {
    const receiver = cli.begin(process.execPath, [receiverScript, String(port), file]);
    await until('the receiver', async () => receiver.texts.stdout.includes('ready'));
    return receiver;
  };
  const startListen = async () => {
    const listen = cli.beginCommand(['listen', '--forward-to', target, '--json'], env);
    await until('listen to begin', async () => {
      if (listen.child.exitCode !== null) throw new Error(`listen ended: ${listen.texts.stderr}`);
      return listen.texts.stdout.includes('"listening"');
    });
    return listen;
  };
  const received = (): Received[] =>
    existsSync(file)
      ? readFileSync(file, 'utf8')
          .split('\n')
          .slice(0, -1)
          .map((line) => JSON.parse(line) as Received)
      : [];
  return { account, env, target, startReceiver, startListen, received };
}

async function pay({ key }: TestAccount, to: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let nth = 1; nth <= count; nth++) {
    const { status, body } = await service.client.post('/agent/transfer', { to, amount: nth, currency: 'USDC' }, key);
    expect(status).toBe(200);
    ids.push(body.transferId);
  }
  return ids;
}

const transfersIn = (received: readonly Received[]) =>
  received.map(({ body }) => JSON.parse(body).data.transferId as string);
const deliveries = (output: string) => output.split('\n').filter((line) => line.startsWith('evt_')).length;
const secretIn = (output: string) => JSON.parse(output.split('\n')[0] ?? '').listening.secret as string;

async function kill({ child, ended }: ReturnType<typeof cli.begin>): Promise<void> {
  child.kill('SIGKILL');
  await ended;
}

it('delivers every event once and in order, signed, and ends at once when it is asked to', async () => {
  const { account, target, startReceiver, startListen, received } = await world();
  const bob = await service.client.register();
  const receiver = await startReceiver();
  const listen = await startListen();
  const paid = await pay(account, bob.handle, 30);
  await until('all events', async () => received().length === paid.length);
  expect(transfersIn(received())).toEqual(paid);
  expect(deliveries(receiver.texts.stdout)).toBe(paid.length);

  const secret = secretIn(listen.texts.stdout);
  for (const { headers, body } of received()) {
    expect(await verifyWebhook(body, headers, secret)).toMatchObject({
      id: headers['webhook-id'],
      type: 'payment.sent',
    });
  }
  await expect(
    verifyWebhook(received()[0]?.body ?? '', received()[0]?.headers ?? {}, 'whsec_b3RoZXI='),
  ).rejects.toThrow();
  for (const line of listen.texts.stdout.trim().split('\n')) JSON.parse(line);

  const second = await cli.run(['listen', '--forward-to', target, '--json'], {
    env: { PAYWRIGHT_URL: service.url, PAYWRIGHT_API_KEY: account.key },
  });
  expect([second.code, JSON.parse(second.stdout).code]).toEqual([1, 'already_listening']);
  listen.child.kill('SIGTERM');
  expect(await listen.ended).toBe(0);

  // What happens meanwhile comes the next time, signed with the same secret.
  const more = await pay(account, bob.handle, 2);
  const again = await startListen();
  await until('the events of meanwhile', async () => received().length === paid.length + 2);
  expect(transfersIn(received()).slice(-2)).toEqual(more);
  expect(secretIn(again.texts.stdout)).toBe(secret);
  await kill(again);
  await kill(receiver);
});

it('delivers every event once and in order while it and the receiver are killed again and again', async () => {
  const { account, startReceiver, startListen, received } = await world();
  const bob = await service.client.register();
  let receiver = await startReceiver();
  let listen = await startListen();
  const secret = secretIn(listen.texts.stdout);
  const total = 120;
  const paying = pay(account, bob.handle, total);
  const kills = 9;
  for (let nth = 1; nth <= kills; nth++) {
    const mark = Math.floor((total * nth) / (kills + 1));
    await until(`event ${mark}`, async () => received().length >= mark);
    const victims = nth % 3;
    await Promise.all([...(victims !== 0 ? [kill(listen)] : []), ...(victims !== 1 ? [kill(receiver)] : [])]);
    if (victims !== 1) receiver = await startReceiver();
    if (victims !== 0) listen = await startListen();
  }
  const paid = await paying;
  await until('all events', async () => received().length >= total);
  expect(transfersIn(received())).toEqual(paid);
  for (const { headers, body } of received()) await verifyWebhook(body, headers, secret);
  await kill(listen);
  await kill(receiver);
}, 180_000);

it('waits for the answer to a delivery when it is asked to end, so that none is made twice', async () => {
  const { account, env } = await world();
  const bob = await service.client.register();
  const ids: unknown[] = [];
  const answers: (() => void)[] = [];
  const server = createServer(({ headers }, response) => {
    ids.push(headers['webhook-id']);
    answers.push(() => response.end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const begin = async () => {
    const target = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const listen = cli.beginCommand(['listen', '--forward-to', target], env);
    await until('listen to begin', async () => listen.texts.stdout.includes('Press Ctrl-C'));
    return listen;
  };
  const first = await begin();
  await pay(account, bob.handle, 2);
  await until('the delivery', async () => answers.length === 1);
  first.child.kill('SIGINT');
  // The signal has arrived long before another process has started and ended.
  await cli.run(['completion', 'bash']);
  answers[0]?.();
  expect(await first.ended).toBe(0);

  const second = await begin();
  await until('the next delivery', async () => answers.length === 2);
  expect(new Set(ids).size).toBe(2);
  answers[1]?.();
  await kill(second);
});

it('does not skip events where it cannot know its place', async () => {
  const { env, target, startListen } = await world();
  await kill(await startListen());
  const folder = join(cli.config, 'paywright', 'accounts');
  const places = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name));
  const place = places.find((name) => name.endsWith('.json') && readFileSync(name, 'utf8').includes(target)) ?? '';
  for (const damaged of ['', '{"cursor"', 'null', '{"cursor":7}', '{"cursor":"evt_"}']) {
    writeFileSync(place, damaged);
    const refused = await cli.run(['listen', '--forward-to', target, '--json'], { env });
    expect([refused.code, JSON.parse(refused.stdout).code], damaged).toEqual([1, 'place_damaged']);
  }
});

it('keeps what it remembers to itself', async () => {
  const { startListen, startReceiver } = await world();
  await kill(await startReceiver());
  const listen = await startListen();
  await kill(listen);
  const folder = join(cli.config, 'paywright');
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  const { stdout } = await new Promise<{ stdout: string }>((resolve) => {
    const find = cli.begin('find', [folder, '-type', 'f', '-perm', '/077']);
    void find.ended.then(() => resolve(find.texts));
  });
  expect(stdout).toBe('');
});

it('says that events were missed, and goes on only when it is told to', async () => {
  const { env, target, account, startListen } = await world();
  await kill(await startListen());
  const { rows } = await service.database.db.query<{ accountId: bigint }>(
    'SELECT id AS account_id FROM accounts WHERE handle = $1',
    [account.handle],
  );
  await service.database.db.query('DELETE FROM ledger.event_feeds WHERE account_id = $1', [rows[0]?.accountId]);
  const refused = await cli.run(['listen', '--forward-to', target], { env });
  expect(refused.code).toBe(4);
  expect(refused.stderr).toContain('--from-now');
  const listen = cli.beginCommand(['listen', '--forward-to', target, '--from-now'], env);
  await until('listen to begin', async () => listen.texts.stdout.includes('Press Ctrl-C'));
  await kill(listen);
});
