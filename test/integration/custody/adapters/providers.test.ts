import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';
import { afterAll, describe, expect, test } from 'vitest';
import { createSmtpMailer } from '../../../../src/accounts/messages/adapters/smtp/smtp-mailer.ts';
import { createTwilioSms } from '../../../../src/accounts/messages/adapters/twilio/feature.ts';
import { createKeysProvider } from '../../../../src/custody/adapters/keys/keys-provider.ts';
import { createLogger } from '../../../../src/kernel/log/logger.ts';
import { createSecrets, type Secrets } from '../../../../src/kernel/secrets/secrets.ts';
import { useDatabase } from '../../../support/database.ts';

const { db } = useDatabase();
const servers: Server[] = [];
afterAll(() => {
  for (const server of servers) server.close();
});

function listen(server: Server): Promise<number> {
  servers.push(server);
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)));
}

describe('wallets from keys of our own', () => {
  const secrets = createSecrets('s'.repeat(32));
  const open = (from: Secrets) =>
    createKeysProvider({ db, secrets: from, networks: new Map(), logger: createLogger('silent') });

  test('every wallet has its own address, and a second instance derives from the same seed', async () => {
    const [one, two] = await Promise.all([open(secrets), open(secrets)]);
    const wallets = await Promise.all(
      Array.from({ length: 20 }, (_, n) => (n % 2 ? one : two).createWallet({ chain: 'MATIC' })),
    );
    expect(new Set(wallets.map((wallet) => wallet.address)).size).toBe(20);
    expect(new Set(wallets.map((wallet) => wallet.ref)).size).toBe(20);
    const { rows } = await db.query<{ sealed: Buffer }>('SELECT sealed FROM wallet_seeds');
    expect(rows).toHaveLength(1);
  });

  test('another secret does not open the seed, and says so', async () => {
    await open(secrets);
    await expect(open(createSecrets('t'.repeat(32)))).rejects.toThrow(/encrypted with another secret/);
  });
});

test('mail goes out over SMTP', async () => {
  const heard: string[] = [];
  const server = createTcpServer((socket) => {
    socket.write('220 test\r\n');
    let inData = false;
    let rest = '';
    socket.on('data', (chunk) => {
      const lines = `${rest}${chunk}`.split('\r\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        heard.push(line);
        if (inData) {
          if (line === '.') {
            inData = false;
            socket.write('250 queued\r\n');
          }
        } else if (line === 'DATA') {
          inData = true;
          socket.write('354 go on\r\n');
        } else if (line === 'QUIT') socket.end('221 bye\r\n');
        else socket.write('250 ok\r\n');
      }
    });
  });
  const port = await listen(server);
  const mailer = createSmtpMailer({
    smtpUrl: `smtp://127.0.0.1:${port}?ignoreTLS=true`,
    from: 'Paywright <pay@example.com>',
  });
  await mailer.send({ channel: 'email', to: 'ada@example.com', subject: 'Your code', text: '493021 is your code.' });
  expect(heard).toContain('RCPT TO:<ada@example.com>');
  expect(heard.some((line) => line.startsWith('MAIL FROM:<pay@example.com>'))).toBe(true);
  expect(heard).toContain('Subject: Your code');
  expect(heard).toContain('493021 is your code.');
});

describe('SMS through Twilio', () => {
  const seen: { url: string | undefined; authorization: string | undefined; body: string }[] = [];
  const server = createHttpServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      seen.push({ url: request.url, authorization: request.headers.authorization, body });
      const refused = body.includes('%2B19999999999');
      response.writeHead(refused ? 400 : 201, { 'content-type': 'application/json' });
      response.end(JSON.stringify(refused ? { code: 21211, message: 'Invalid To' } : { sid: 'SM1', status: 'queued' }));
    });
  });

  test('sends the text, and a refusal is an error without the text', async () => {
    const port = await listen(server);
    const sms = createTwilioSms({
      accountSid: 'AC1',
      authToken: 'token',
      from: '+15005550006',
      baseUrl: `http://127.0.0.1:${port}`,
    });
    await sms.send({ channel: 'sms', to: '+14155550123', subject: '', text: '493021 is your code.' });
    expect(seen[0]?.url).toBe('/2010-04-01/Accounts/AC1/Messages.json');
    expect(seen[0]?.authorization).toBe(`Basic ${Buffer.from('AC1:token').toString('base64')}`);
    expect(Object.fromEntries(new URLSearchParams(seen[0]?.body))).toEqual({
      To: '+14155550123',
      From: '+15005550006',
      Body: '493021 is your code.',
    });
    await expect(sms.send({ channel: 'sms', to: '+19999999999', subject: '', text: '493021' })).rejects.toThrow(
      'Twilio refused the message: status 400, code 21211',
    );
  });
});
