import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { accounts } from '../accounts/feature.ts';
import { Refusal } from '../kernel/refusal.ts';
import type { Given } from '../kernel/settings.ts';
import { chains } from '../money/catalogue.ts';
import { deposits } from '../payments/deposits/feature.ts';
import { webhooks } from '../webhooks/feature.ts';
import { removedSettings } from './check-settings.ts';
import { features } from './features.ts';
import { settingsOf } from './listed-feature.ts';
import { readSettings } from './read-settings.ts';

const live = {
  PAYWRIGHT_MODE: 'live',
  DATABASE_URL: 'postgres://paywright:hunter2@db.internal/paywright?sslmode=verify-full',
  PUBLIC_URL: 'https://pay.example.com/',
  PAYWRIGHT_SECRET: randomBytes(32).toString('base64'),
  DENY_LIST_FILE: 'none',
  SMTP_URL: 'smtps://user:hunter2@mail.internal',
  MAIL_FROM: 'Paywright <pay@example.com>',
  TWILIO_ACCOUNT_SID: 'AC1',
  TWILIO_AUTH_TOKEN: 'hunter2',
  TWILIO_FROM: '+15005550006',
  RPC_URLS_MATIC: 'https://polygon.example.com, https://other.example.com',
};

const machine = { isRoot: false, readFile: () => `${randomBytes(32).toString('base64')}\n` };
const readLive = (env: Given, on: Partial<typeof machine> = {}) =>
  readSettings({ ...live, ...env }, features, { ...machine, ...on });

describe('the sandbox', () => {
  test('needs nothing', () => {
    expect(readSettings({})).toMatchObject({
      mode: 'sandbox',
      host: '127.0.0.1',
      port: 8402,
      publicUrl: 'http://127.0.0.1:8402',
      rateLimits: { free: 60, pro: 300, anonymous: 30 },
    });
    expect(settingsOf(readSettings({}), accounts)).toEqual({
      autoVerify: true,
      idleMs: 90 * 24 * 60 * 60_000,
      codeLimits: {
        sms: { inAll: 1_000, perCountry: 200, perTarget: 5, perNetwork: 10 },
        mails: { inAll: 20_000, perCountry: 0, perTarget: 10, perNetwork: 100 },
      },
      resetLimits: { inAll: 5_000, perNetwork: 20, perMailbox: 3 },
      longestDelayMs: 6_000,
      registrationsPerNetwork: 0,
    });
  });

  test('an empty variable is an unset one, and 0 is no limit', () => {
    const config = readSettings({ PORT: '', RATE_LIMIT_FREE_PER_MINUTE: '0', RATE_LIMIT_PRO_PER_MINUTE: '' });
    expect(config).toMatchObject({ port: 8402, rateLimits: { free: 0, pro: 300 } });
  });

  test('webhooks are retried up to three times, when the operator says', () => {
    const retrySeconds = (env: Given) => settingsOf(readSettings(env), webhooks).retrySeconds;
    expect(retrySeconds({})).toEqual([10, 60, 360]);
    expect(retrySeconds({ WEBHOOK_RETRY_SECONDS: '' })).toEqual([10, 60, 360]);
    expect(retrySeconds({ WEBHOOK_RETRY_SECONDS: '0.5, 1' })).toEqual([0.5, 1]);
    for (const text of ['x', '1,', '1,2,3,4', '-1', '1e3', '99999', '1;2']) {
      expect(() => readSettings({ WEBHOOK_RETRY_SECONDS: text }), text).toThrow('WEBHOOK_RETRY_SECONDS must');
    }
  });

  test('keys that nobody uses end after as many days as the operator says, or never', () => {
    const idleMs = (days: string) => settingsOf(readSettings({ KEY_IDLE_DAYS: days }), accounts).idleMs;
    expect(idleMs('1')).toBe(24 * 60 * 60_000);
    expect(idleMs('0')).toBe(Number.POSITIVE_INFINITY);
    for (const days of ['-1', '1.5', '4000', 'x']) expect(() => idleMs(days), days).toThrow('KEY_IDLE_DAYS must be');
  });

  test('the public address follows the port unless it is given', () => {
    expect(readSettings({ PORT: '9000' }).publicUrl).toBe('http://127.0.0.1:9000');
    expect(readSettings({ PORT: '9000', PUBLIC_URL: 'https://pay.example.com/' }).publicUrl).toBe(
      'https://pay.example.com',
    );
    expect(readSettings({ PORT: '0' }).publicUrl).toBeUndefined();
  });
});

describe('a name that is not a setting', () => {
  test('is reported in both modes, and one that was a setting with the value that holds now', () => {
    const given = {
      SMS_PER_DAY: '5',
      RATE_LIMIT_PAGES_PER_MINUTE: '9',
      NANO_CREDITS: '1',
      PUBLC_URL: 'x',
      MAILS_PER_DAYS: '5',
      PATH: '/bin',
    };
    const warnings = [
      'SMS_PER_DAY is no longer a setting: at most 1000 codes are sent by SMS on a day',
      'RATE_LIMIT_PAGES_PER_MINUTE is no longer a setting: it is twenty times RATE_LIMIT_ANONYMOUS_PER_MINUTE',
      'NANO_CREDITS is not a setting; docs/settings.md lists them all',
      'PUBLC_URL is not a setting. Did you mean PUBLIC_URL?',
      expect.stringMatching(/^MAILS_PER_DAYS is not a setting. MAILS_PER_DAY is no longer one either: /),
    ];
    expect(readSettings(given).warnings).toEqual(warnings);
    expect(readLive(given).warnings).toEqual(warnings);
  });

  test('was removed for good', () => {
    const known = features.flatMap(({ settings }) => Object.keys(settings?.variables ?? {}));
    expect(Object.keys(removedSettings).filter((name) => known.includes(name))).toEqual([]);
  });
});

describe('a wrong value', () => {
  test.each([
    [{ PORT: 'abc' }, 'PORT must be a whole number from 0 to 65535 (it is "abc").'],
    [{ PORT: '70000' }, 'PORT must be a whole number from 0 to 65535 (it is "70000").'],
    [{ PORT: '-1' }, 'PORT must be a whole number from 0 to 65535 (it is "-1").'],
    [{ PAYWRIGHT_MODE: 'prod' }, 'PAYWRIGHT_MODE must be sandbox or live (it is "prod").'],
    [
      { RATE_LIMIT_FREE_PER_MINUTE: '1.5' },
      'RATE_LIMIT_FREE_PER_MINUTE must be a whole number from 0 to 1000000 (it is "1.5").',
    ],
    [
      { TRUSTED_PROXIES: '10.0.0.0/99' },
      'TRUSTED_PROXIES must be a comma-separated list of IP addresses and CIDR ranges (it is "10.0.0.0/99").',
    ],
    [
      { ALLOW_PRIVATE_HOSTS: 'localhost' },
      'ALLOW_PRIVATE_HOSTS must be a comma-separated list of exact places such as 127.0.0.1:9000 (it is "localhost").',
    ],
    [{ SANDBOX_AUTO_VERIFY: 'yes' }, 'SANDBOX_AUTO_VERIFY must be true or false (it is "yes").'],
    [{ LOG_LEVEL: 'loud' }, 'LOG_LEVEL must be trace, debug, info, warn, error, fatal or silent (it is "loud").'],
    [{ PUBLIC_URL: 'pay.example.com' }, 'PUBLIC_URL must be a URL that begins with http:// or https://.'],
  ])('%j is one clear sentence', (env, sentence) => {
    expect(() => readSettings(env)).toThrow(new Refusal(sentence));
  });

  test('a value that may hold a password is never repeated', () => {
    expect(() => readSettings({ DATABASE_URL: 'mysql://u:hunter2@h/d' })).toThrow(/^(?!.*hunter2)DATABASE_URL must be/);
    expect(() => readSettings({ PAYWRIGHT_SECRET: 'hunter2' })).toThrow(/^(?!.*hunter2)PAYWRIGHT_SECRET must be/);
  });
});

describe('live mode', () => {
  test('starts when everything is there, and never verifies by itself', () => {
    expect(readLive({})).toMatchObject({ mode: 'live', publicUrl: 'https://pay.example.com' });
    expect(settingsOf(readLive({}), accounts).autoVerify).toBe(false);
  });

  test('names everything that is missing or unsafe at once', () => {
    const unsafe = {
      PAYWRIGHT_MODE: 'live',
      PUBLIC_URL: 'http://pay.example.com',
      SANDBOX_AUTO_VERIFY: 'true',
      ALLOW_PRIVATE_HOSTS: 'localhost:1',
      NODE_TLS_REJECT_UNAUTHORIZED: '0',
    };
    for (const name of [...Object.keys(live), ...Object.keys(unsafe)].filter((key) => key !== 'PAYWRIGHT_MODE')) {
      expect(() => readSettings(unsafe)).toThrow(new RegExp(`^  - ${name}\\b`, 'm'));
    }
  });

  test.each<[Record<string, string>, string]>([
    [{ TRUSTED_PROXIES: '10.0.0.0/8,0.0.0.0/0' }, 'TRUSTED_PROXIES is unsafe: with ranges that wide'],
    [{ TRUSTED_PROXIES: '0.0.0.0/1,128.0.0.0/1' }, 'TRUSTED_PROXIES is unsafe'],
    [{ RATE_LIMIT_FREE_PER_MINUTE: '0' }, 'RATE_LIMIT_FREE_PER_MINUTE is unsafe: 0 would be no limit'],
    [{ RATE_LIMIT_PRO_PER_MINUTE: '0' }, 'RATE_LIMIT_PRO_PER_MINUTE is unsafe'],
    [{ RATE_LIMIT_ANONYMOUS_PER_MINUTE: '0' }, 'RATE_LIMIT_ANONYMOUS_PER_MINUTE is unsafe'],
    [{ KEY_IDLE_DAYS: '0' }, 'KEY_IDLE_DAYS is unsafe: an unused key must end within a year'],
    [{ KEY_IDLE_DAYS: '366' }, 'KEY_IDLE_DAYS is unsafe'],
    [{ NANO_PAYER_PER_MINUTE: '0' }, 'NANO_PAYER_PER_MINUTE is unsafe'],
    [{ PAYWRIGHT_SECRET: 'x'.repeat(40) }, 'PAYWRIGHT_SECRET is unsafe: it has fewer than 8 different characters'],
    [{ PAYWRIGHT_SECRET: 'change-me-to-something-long-and-random' }, 'PAYWRIGHT_SECRET is unsafe: it contains a word'],
    [{ DATABASE_URL: 'postgres://u:hunter2@db.internal/d' }, 'DATABASE_URL is unsafe: over a network it needs TLS'],
    [{ DATABASE_URL: 'postgres://u:hunter2@db.internal/d?sslmode=no-verify' }, 'DATABASE_URL is unsafe'],
    [
      { REDIS_URL: 'redis://:hunter2@cache.internal' },
      'REDIS_URL is unsafe: over a network it must begin with rediss://',
    ],
    [
      { REDIS_URL: 'redis+sentinel://:hunter2@127.0.0.1,cache.internal/main' },
      'REDIS_URL is unsafe: over a network it must begin with rediss:// or rediss+sentinel://',
    ],
    [{ SMTP_URL: 'smtp://user:hunter2@mail.internal' }, 'SMTP_URL is unsafe: over a network'],
    [{ SMTP_URL: 'smtps://user:hunter2@mail.internal?tls.rejectUnauthorized=false' }, 'SMTP_URL is unsafe'],
    [
      { MIGRATION_DATABASE_URL: 'postgres://o:hunter2@db.internal/d' },
      'MIGRATION_DATABASE_URL is unsafe: over a network it needs TLS',
    ],
    [{ PAYWRIGHT_SECRET_NEXT: 'x'.repeat(40) }, 'PAYWRIGHT_SECRET_NEXT is unsafe: it has fewer than 8'],
    [{ PUBLIC_URL: 'https://ada:hunter2@pay.example.com' }, 'PUBLIC_URL is unsafe: it must not hold a password'],
    [{ PUBLIC_URL: 'https://10.0.0.7' }, 'PUBLIC_URL is unsafe: this address cannot be reached from outside'],
    [{ PUBLIC_URL: 'https://[::1]:8402' }, 'PUBLIC_URL is unsafe: this address cannot be reached'],
    [{ PUBLIC_URL: 'https://payments' }, 'PUBLIC_URL is unsafe: this address cannot be reached'],
    ...[
      'localhost.',
      'pay.localhost',
      'pay.',
      '10.0.0.5.',
      'pay.local',
      'pay.internal',
      'pay.home.arpa',
      'PAY.LAN',
    ].map(
      (host) =>
        [{ PUBLIC_URL: `https://${host}` }, 'PUBLIC_URL is unsafe: this address cannot be reached'] as [
          Record<string, string>,
          string,
        ],
    ),
    [
      { EURC_ADDRESS_MATIC: '0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174' },
      'EURC_ADDRESS_MATIC is unsafe: it is the address of USDC.e',
    ],
    [
      { EURC_ADDRESS_MATIC: '0x8f3cf7ad23cd3cadbd9735aff958023239c6a063' },
      'EURC_ADDRESS_MATIC is unsafe: it is the address of DAI',
    ],
    [{ EURC_ADDRESS_MATIC: `0x${'0'.repeat(40)}` }, 'EURC_ADDRESS_MATIC is unsafe: there is no contract'],
    [{ EURC_ADDRESS_MATIC: chains.MATIC.tokens.USDC.toLowerCase() }, 'EURC_ADDRESS_MATIC is unsafe: it is the address'],
    [{ NODE_OPTIONS: '--max-old-space-size=4096 --inspect=0.0.0.0' }, 'NODE_OPTIONS is unsafe: --inspect opens'],
    [{ NODE_OPTIONS: '--insecure_http_parser' }, 'NODE_OPTIONS is unsafe: --insecure_http_parser opens'],
    [{ NODE_OPTIONS: '--inspect_brk=0.0.0.0:9229' }, 'NODE_OPTIONS is unsafe: --inspect_brk opens'],
    [{ NODE_OPTIONS: '--insecure-http-parser' }, 'NODE_OPTIONS is unsafe: --insecure-http-parser opens'],
    [{ TRUSTED_PROXIES: '104.0.0.0/7' }, 'TRUSTED_PROXIES is unsafe'],
    [
      { WALLET_PROVIDER: 'circle', CIRCLE_API_KEY: 'TEST_API_KEY:a:hunter2' },
      'CIRCLE_API_KEY is unsafe: it is a key for',
    ],
    [
      { DATABASE_URL: `postgres://u:${encodeURIComponent(String(live.PAYWRIGHT_SECRET))}@127.0.0.1/d` },
      'PAYWRIGHT_SECRET is unsafe: it is the password of DATABASE_URL',
    ],
    [{ DENY_LIST_FILE: '' }, 'DENY_LIST_FILE is missing: addresses that no money goes to'],
    [{ X402_FACILITATOR_URL: 'http://pay.example' }, 'X402_FACILITATOR_URL is unsafe'],
  ])('refuses %j', (env, sentence) => {
    const refusal = () => readLive(env);
    expect(refusal).toThrow(`\n  - ${sentence}`);
    expect(refusal).not.toThrow(/hunter2/);
  });

  test.each([
    { DATABASE_URL: 'postgres://u:p@127.0.0.1/d' },
    { DATABASE_URL: 'postgres:///d?host=/var/run/postgresql' },
    { MIGRATION_DATABASE_URL: 'postgres://o:p@db.internal/d?sslmode=verify-full' },
    // The one that goes may be as bad as it was: that may be why it goes.
    { PAYWRIGHT_SECRET_OLD: 'x'.repeat(40) },
    { REDIS_URL: 'redis://127.0.0.1:6379' },
    { REDIS_URL: 'rediss://cache.internal' },
    { REDIS_URL: 'redis+sentinel://127.0.0.1,localhost/main' },
    { REDIS_URL: 'rediss+sentinel://cache.internal,other.internal/main' },
    { SMTP_URL: 'smtp://localhost:25' },
    { SMTP_URL: 'smtp://user:p@mail.internal:587?requireTLS=true' },
    { TRUSTED_PROXIES: '10.0.0.0/8,fc00::/7,104.16.0.0/13' },
    { DENY_LIST_FILE: '/etc/paywright/deny.txt' },
  ])('takes %j', (env) => {
    expect(readLive(env).mode).toBe('live');
  });

  test.each(['PUBLIC_URL', 'X402_FACILITATOR_URL', 'CIRCLE_BASE_URL', 'MOONPAY_URL'])(
    'is not led past the scheme of %s by how it is written',
    (name) => {
      for (const text of ['HTTP://pay.example', ' http://pay.example', '\thttp://pay.example', 'http:pay.example']) {
        expect(() => readLive({ [name]: text }), text).toThrow(`${name} must be a URL that begins with http`);
      }
    },
  );

  test.each(['REDISS://cache.internal', ' rediss://cache.internal'])(
    'takes no "%s", which its driver takes for something else',
    (text) => {
      expect(() => readLive({ REDIS_URL: text })).toThrow(
        'REDIS_URL must be a URL that begins with redis:// or rediss://',
      );
    },
  );

  test('derives the limits of networks and of pages from the one of addresses', () => {
    expect(readSettings({}).rateLimits).toMatchObject({ anonymous: 30, network: 120, pages: 600 });
    const unlimited = readSettings({ RATE_LIMIT_ANONYMOUS_PER_MINUTE: '0' });
    expect(unlimited.rateLimits).toMatchObject({ network: 0, pages: 0 });
  });

  test('limits new accounts and all keys of an address, which the sandbox does not', () => {
    expect(readLive({}).rateLimits.address).toBe(6_000);
    expect(settingsOf(readLive({}), accounts).registrationsPerNetwork).toBe(200);
    expect(readSettings({}).rateLimits.address).toBe(0);
  });

  test('starts with settings that are only strange, and warns of them without their value', () => {
    expect(readLive({}).warnings).toEqual([]);
    const strange = readLive({
      RATE_LIMIT_FREE_PER_MINTUE: '60',
      PUBLC_URL: 'https://hunter2.example.com',
      PAYWRIGHT_SECRETS: 'hunter2',
      RATE_LIMIT_PRO_PER_MINUTE: '300000',
      SOMETHING_ELSE: 'of another program',
      PATH: '/usr/bin',
    });
    expect(strange.warnings).toEqual([
      'RATE_LIMIT_FREE_PER_MINTUE is not a setting. Did you mean RATE_LIMIT_FREE_PER_MINUTE?',
      'PUBLC_URL is not a setting. Did you mean PUBLIC_URL?',
      'PAYWRIGHT_SECRETS is not a setting. Did you mean PAYWRIGHT_SECRET?',
      'RATE_LIMIT_PRO_PER_MINUTE is 1000 times the usual 300: as good as no limit',
    ]);
    const open = 'DATABASE_URL has no password: anyone who reaches the database could log in';
    expect(readLive({ DATABASE_URL: 'postgres://paywright@127.0.0.1/d' }).warnings).toEqual([open]);
    for (const url of ['postgres:///d?host=/var/run/postgresql', 'postgres://paywright@%2Fvar%2Frun/d']) {
      expect(readLive({ DATABASE_URL: url }).warnings).toEqual([]);
    }
    expect(readLive({ DATABASE_URL: 'postgres://paywright@127.0.0.1/d', PGPASSWORD: 'p' }).warnings).toEqual([]);
  });

  test('the secret is not the password of a database, however either is given', () => {
    const shared = String(live.PAYWRIGHT_SECRET);
    const encoded = encodeURIComponent(shared);
    const inUrl = { DATABASE_URL: `postgres://p:${encoded}@127.0.0.1/p` };
    const inQuery = { DATABASE_URL: `postgres://p@127.0.0.1/p?password=${encoded}` };
    const inEnvironment = { DATABASE_URL: 'postgres://p@127.0.0.1/p', PGPASSWORD: shared };
    const another = randomBytes(32).toString('base64');
    const holders = {
      PAYWRIGHT_SECRET: {},
      PAYWRIGHT_SECRET_FILE: { PAYWRIGHT_SECRET: '', PAYWRIGHT_SECRET_FILE: '/run/secret' },
      PAYWRIGHT_SECRET_NEXT: { PAYWRIGHT_SECRET: another, PAYWRIGHT_SECRET_NEXT: shared },
      PAYWRIGHT_SECRET_NEXT_FILE: { PAYWRIGHT_SECRET: another, PAYWRIGHT_SECRET_NEXT_FILE: '/run/secret' },
    };
    for (const [name, holder] of Object.entries(holders)) {
      for (const place of [inUrl, inQuery, inEnvironment]) {
        const from = 'PGPASSWORD' in place ? 'PGPASSWORD' : 'DATABASE_URL';
        expect(() => readLive({ ...holder, ...place }, { readFile: () => `${shared}\n` })).toThrow(
          `\n  - ${name} is unsafe: it is the password of ${from}`,
        );
      }
      expect(readLive(holder, { readFile: () => `${shared}\n` }).mode).toBe('live');
    }
  });

  test('warns of limits that are none, also of amounts', () => {
    const warningsOf = (env: Given) => readLive(env).warnings;
    expect(warningsOf({ NANO_CREDIT_PER_PAYER: '1000000' })).toEqual([
      'NANO_CREDIT_PER_PAYER is 1000000 times the usual 1: as good as no limit',
    ]);
    expect(warningsOf({ NANO_CREDIT_PER_PAYER: '50', DEPOSIT_ONE_NODE_LIMIT: '100000' })).toEqual([]);
  });

  test('warns of a database without a password, however its address is written', () => {
    const isOpen = (env: Given) =>
      readLive(env).warnings.some((line) => line.startsWith('DATABASE_URL has no password'));
    for (const url of [
      'postgres:///p?host=db.internal&user=p&sslmode=verify-full',
      'postgres://p@x/p?host=db.internal&sslmode=verify-full',
      'postgres://p:@db.internal/p?sslmode=verify-full&password=',
    ]) {
      expect(isOpen({ DATABASE_URL: url }), url).toBe(true);
      expect(isOpen({ DATABASE_URL: url, PGPASSWORD: 'p' }), url).toBe(false);
      expect(isOpen({ DATABASE_URL: url, PGPASSFILE: '/run/pgpass' }), url).toBe(false);
    }
    for (const url of [
      'postgres:///p?host=/var/run/postgresql',
      'postgres:///p?host=db.internal&password=p&sslmode=verify-full',
    ]) {
      expect(isOpen({ DATABASE_URL: url }), url).toBe(false);
    }
  });

  test.each([
    ['RPC_URLS_POL', 'RPC_URLS_MATIC'],
    ['RPC_URLS_POLYGON', 'RPC_URLS_MATIC'],
    ['RPC_URLS_OPTIMISM', 'RPC_URLS_OP'],
    ['RPC_URLS_MATI', 'RPC_URLS_MATIC'],
    ['RPC_URL_MATIC', 'RPC_URLS_MATIC'],
    ['TRUST_PROXY', 'TRUSTED_PROXIES'],
    ['TRUSTED_PROXY', 'TRUSTED_PROXIES'],
    ['PROT', 'PORT'],
    ['HOSTT', 'HOST'],
  ])('%s was to be %s', (name, meant) => {
    expect(readLive({ [name]: 'x' }).warnings).toEqual([`${name} is not a setting. Did you mean ${meant}?`]);
  });

  test.each(['RPC_URLS_BNB', 'RPC_URLS_BSC', 'RPC_URLS_SOL', 'RPC_URLS_ETC', 'RPC_URLS_BERA'])(
    'has no chain for %s, and suggests none',
    (name) => {
      expect(readLive({ [name]: 'x' }).warnings).toEqual([`${name} is not a setting: there is no such chain here`]);
    },
  );

  test.each([
    'HOSTS',
    'HOSTNAME',
    'HOME',
    'PATH',
    'PWD',
    'TERM',
    'LANG',
    'POST',
    'PORTS',
    'PORT_HTTP',
    'PAYWRIGHT_PORT',
    'DATABASE_PRIVATE_URL',
  ])('%s belongs to others', (name) => {
    expect(readLive({ [name]: 'x' }).warnings).toEqual([]);
  });

  test('does not run as root', () => {
    expect(() => readLive({}, { isRoot: true })).toThrow(
      '\n  - The user is unsafe: run the service as a user of its own, not as root',
    );
  });

  test('asks nodes over https only, and never repeats their addresses', () => {
    const refusal = (urls: string) => () => readLive({ RPC_URLS_ETH: urls });
    for (const urls of ['http://eth.example.com/hunter2', 'https://eth.example.com,http://10.0.0.7/hunter2']) {
      expect(refusal(urls)).toThrow(/^ {2}- RPC_URLS_ETH is unsafe: /m);
      expect(refusal(urls)).not.toThrow(/hunter2/);
    }
    expect(readLive({ RPC_URLS_ETH: 'http://127.0.0.1:8545,http://localhost:1' }).rpcUrls.has('ETH')).toBe(true);
  });

  test('believes one node up to a limit that is not absurd', () => {
    const limitOf = (env: Given) => settingsOf(readSettings(env, features, machine), deposits).oneNodeLimit?.atOnce;
    expect(limitOf({})).toBeUndefined();
    expect(limitOf({ DEPOSIT_ONE_NODE_LIMIT: '7' })).toBe(7_000_000n);
    expect(limitOf(live)).toBe(1_000_000_000n);
    expect(limitOf({ ...live, DEPOSIT_ONE_NODE_LIMIT: '0' })).toBe(0n);
    expect(limitOf({ ...live, DEPOSIT_ONE_NODE_LIMIT: '100000' })).toBe(100_000_000_000n);
    expect(() => readLive({ DEPOSIT_ONE_NODE_LIMIT: '100001' })).toThrow(/^ {2}- DEPOSIT_ONE_NODE_LIMIT is unsafe: /m);
    expect(() => readSettings({ DEPOSIT_ONE_NODE_LIMIT: '-1' })).toThrow('DEPOSIT_ONE_NODE_LIMIT must');
  });

  test('a secret may come from a file instead, and is looked at all the same', () => {
    const fromFile = { PAYWRIGHT_SECRET: '', PAYWRIGHT_SECRET_FILE: '/run/secret' };
    expect(readLive(fromFile).secret.file).toBe('/run/secret');
    expect(() => readLive(fromFile, { readFile: () => 'ab'.repeat(20) })).toThrow('PAYWRIGHT_SECRET_FILE is unsafe');
  });
});

test('trusted proxies are addresses and ranges of both families', () => {
  const { trustedProxies } = readSettings({ TRUSTED_PROXIES: '10.0.0.0/8, 192.0.2.1,2001:db8::/32' });
  expect(trustedProxies.check('10.1.2.3')).toBe(true);
  expect(trustedProxies.check('192.0.2.1')).toBe(true);
  expect(trustedProxies.check('192.0.2.2')).toBe(false);
  expect(trustedProxies.check('2001:db8::1', 'ipv6')).toBe(true);
});

test('the sandbox may reach the private places that are named, and no others', () => {
  expect(readSettings({}).allowPrivateHosts).toEqual([]);
  expect(readSettings({ ALLOW_PRIVATE_HOSTS: 'Localhost:9000, [::1]:9001' }).allowPrivateHosts).toEqual([
    { host: 'localhost', port: 9000 },
    { host: '[::1]', port: 9001 },
  ]);
});
