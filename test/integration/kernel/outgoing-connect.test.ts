import { afterEach, describe, expect, test, vi } from 'vitest';
import { createDnsLookup } from '../../../src/kernel/outgoing/guarded-connect.ts';
import { createOutgoing, type OutgoingOptions } from '../../../src/kernel/outgoing/outgoing.ts';
import { type DnsServer, startDnsServer } from '../../support/dns.ts';
import { type Listening, listenHttp } from '../../support/listening.ts';
import { createLoopbackDial } from '../../support/loopback-dial.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

function open(options: Partial<OutgoingOptions> = {}) {
  const outgoing = createOutgoing({ allowPrivateHosts: [], ...options });
  closers.push(() => outgoing.close());
  return outgoing;
}

function closing<Part extends { close(): Promise<unknown> }>(part: Part): Part {
  closers.push(() => part.close());
  return part;
}

/** Inside the public range, but given to nobody; no test dials it, because each watches what would be dialled. */
const nobody = '2d00::1';

describe('a name that leads inwards', () => {
  /** Linux has sixteen million loopback addresses, so that tests at the same time do not share one port of one of them. */
  const digit = () => 1 + Math.floor(Math.random() * 250);
  const inner = process.platform === 'linux' ? `127.${digit()}.${digit()}.${digit()}` : '127.0.0.1';
  const url = 'https://rebind.example.com:8443/';

  async function listenInside(): Promise<Listening> {
    const server = closing(await listenHttp((_, response) => response.end('inside'), { host: inner, port: 8443 }));
    const allowed = open({ allowPrivateHosts: [{ host: inner, port: 8443 }] });
    const { body } = await allowed.request({ method: 'GET', url: `http://${inner}:8443/` });
    expect(body.toString(), 'the server can be reached by those who may').toBe('inside');
    expect(server.connections()).toBe(1);
    return server;
  }

  async function openWithDns(answer: Parameters<typeof startDnsServer>[0]) {
    const dns: DnsServer = closing(await startDnsServer(answer));
    const { dial, dialled } = createLoopbackDial();
    return { dns, dialled, outgoing: open({ dial, lookup: createDnsLookup({ servers: [dns.address] }) }) };
  }

  test('first public, then private: the first answer is dialled, and the second refused', async () => {
    const server = await listenInside();
    const { dns, dialled, outgoing } = await openWithDns(({ type, nth }) =>
      type === 'AAAA' ? (nth === 1 ? [nobody] : []) : nth === 1 ? [] : [inner],
    );
    await expect(outgoing.request({ method: 'GET', url })).rejects.toMatchObject({
      code: 'unreachable',
      message: 'The host could not be reached.',
    });
    expect(dialled).toEqual([nobody]);
    expect([...dns.asked].sort(), 'one connection, one resolution').toEqual([
      'A rebind.example.com',
      'AAAA rebind.example.com',
    ]);
    await expect(outgoing.request({ method: 'GET', url })).rejects.toMatchObject({
      code: 'unreachable',
      message: 'The host could not be reached.',
    });
    expect(dialled).toEqual([nobody]);
    expect(server.connections(), 'only the visit of those who may').toBe(1);
  });

  test('public and private in one answer: neither is dialled', async () => {
    const server = await listenInside();
    const { dialled, outgoing } = await openWithDns(({ type }) => (type === 'AAAA' ? [nobody] : [inner]));
    await expect(outgoing.request({ method: 'GET', url })).rejects.toMatchObject({ code: 'unreachable' });
    expect(dialled).toEqual([]);
    expect(server.connections()).toBe(1);
  });

  test('changing all the time, asked by many at once: nobody gets in', async () => {
    const server = await listenInside();
    const { dialled, outgoing } = await openWithDns(({ type, nth }) =>
      type === 'A' && nth % 2 === 0 ? [inner] : type === 'AAAA' ? [nobody] : [],
    );
    const outcomes = await Promise.allSettled(
      Array.from({ length: 40 }, (_, index) =>
        outgoing.request({ method: 'POST', url: `${url}${index}`, body: 'x', timeoutMs: 3_000 }),
      ),
    );
    expect(outcomes.map(({ status }) => status)).toEqual(Array(40).fill('rejected'));
    expect(dialled).not.toContain(inner);
    expect(server.connections()).toBe(1);
  });

  test('a name without an address and one that nobody answers for are told apart', async () => {
    const { outgoing } = await openWithDns(({ name }) => (name.startsWith('empty') ? [] : undefined));
    await expect(outgoing.request({ method: 'GET', url: 'https://empty.example.com/' })).rejects.toMatchObject({
      code: 'unreachable',
      message: 'The host could not be reached.',
    });
    await expect(
      outgoing.request({ method: 'GET', url: 'https://silent.example.com/', timeoutMs: 300 }),
    ).rejects.toMatchObject({ code: 'timeout', message: 'The host did not answer within 0.3 seconds.' });
  });

  test.each([
    ['127.0.0.1.nip.io', '127.0.0.1'],
    ['localtest.me', '127.0.0.1'],
    ['metadata.example.com', '169.254.169.254'],
    ['ten.example.com', '10.0.0.1'],
    ['home.example.com', '192.168.1.1'],
    ['office.example.com', '172.20.0.1'],
    ['carrier.example.com', '100.64.0.1'],
    ['zero.example.com', '0.0.0.0'],
    ['multicast.example.com', '224.0.0.251'],
    ['broadcast.example.com', '255.255.255.255'],
    ['platform.example.com', '168.63.129.16'],
    ['loopback6.example.com', '::1'],
    ['unspecified6.example.com', '::'],
    ['mapped.example.com', '::ffff:127.0.0.1'],
    ['mapped-hex.example.com', '::ffff:7f00:1'],
    ['compatible.example.com', '::127.0.0.1'],
    ['nat64.example.com', '64:ff9b::7f00:1'],
    ['nat64-local.example.com', '64:ff9b:1::7f00:1'],
    ['six-to-four.example.com', '2002:7f00:1::1'],
    ['teredo.example.com', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
    ['unique-local.example.com', 'fd00:ec2::254'],
    ['link-local.example.com', 'fe80::1'],
    ['link-local-zone.example.com', 'fe80::1%lo'],
    ['site-local.example.com', 'fec0::1'],
    ['multicast6.example.com', 'ff02::fb'],
    ['nonsense.example.com', 'not-an-address'],
  ])('%s, which is %s, is refused and its address is not told', async (name, address) => {
    const { dial, dialled } = createLoopbackDial();
    const outgoing = open({ dial, lookup: async () => [nobody, address] });
    const refused = outgoing.request({ method: 'GET', url: `https://${name}/` });
    await expect(refused).rejects.toMatchObject({
      code: 'unreachable',
      message: 'The host could not be reached.',
    });
    expect(dialled).toEqual([]);
  });

  test('is told like one that leads nowhere and like a host where nobody answers, in everything that a user is shown', async () => {
    const { dial } = createLoopbackDial();
    const addresses: Readonly<Record<string, readonly string[]>> = {
      'inside.example.com': ['10.0.0.1'],
      'mixed.example.com': ['8.8.8.8', '127.0.0.1'],
      'nowhere.example.com': [],
      'deserted.example.com': ['8.8.8.8'],
    };
    const outgoing = open({ dial, lookup: async (name) => addresses[name] ?? [] });
    const failures = await Promise.all(
      Object.keys(addresses).map((name) =>
        outgoing.request({ method: 'GET', url: `https://${name}/` }).catch((error: unknown) => error),
      ),
    );
    const [inside, ...others] = failures.map((error) => ({ ...(error as Error), message: (error as Error).message }));
    expect(inside).toEqual({
      name: 'OutgoingError',
      code: 'unreachable',
      message: 'The host could not be reached.',
      neverSent: true,
    });
    for (const other of others) expect(other).toEqual(inside);
  });

  test('is not even looked up in another way: one resolution, whatever it leads to', async () => {
    const { dns, outgoing } = await openWithDns(({ name, type }) =>
      type === 'A' && name.startsWith('inside') ? [inner] : [],
    );
    for (const name of ['inside.example.com', 'nowhere.example.com']) {
      await expect(outgoing.request({ method: 'GET', url: `https://${name}/` })).rejects.toMatchObject({
        code: 'unreachable',
      });
      expect(dns.asked.filter((asked) => asked.endsWith(name)).sort()).toEqual([`A ${name}`, `AAAA ${name}`]);
    }
  });

  test('of several public addresses the next is dialled when one does not answer', async () => {
    const { dial, dialled } = createLoopbackDial();
    const outgoing = open({ dial, lookup: async () => [nobody, '8.8.4.4', '8.8.8.8', nobody] });
    await expect(outgoing.request({ method: 'GET', url })).rejects.toMatchObject({ code: 'unreachable' });
    expect(dialled).toEqual(['8.8.4.4', '8.8.8.8', nobody]);
  });
});

describe('places of the operator', () => {
  test('are reached by name and by number, and only through the guard that knows them', async () => {
    const server = closing(await listenHttp((_, response) => response.end('here')));
    const { port } = server;
    const allowed = open({
      allowPrivateHosts: [
        { host: 'localhost', port },
        { host: '127.0.0.1', port },
      ],
    });
    for (const host of ['localhost', 'LOCALHOST', '127.0.0.1']) {
      const { body } = await allowed.request({ method: 'GET', url: `http://${host}:${port}/` });
      expect(body.toString()).toBe('here');
    }
    const reached = server.connections();
    // The connections of the other are still open, and are no way in.
    const other = open();
    await expect(other.request({ method: 'GET', url: `http://localhost:${port}/` })).rejects.toMatchObject({
      code: 'refused',
    });
    expect(server.connections()).toBe(reached);
  });

  test('a port of our own parts stays closed, also when it becomes one later', async () => {
    const server = closing(await listenHttp((_, response) => response.end('chain')));
    const forbidden: number[] = [];
    const outgoing = open({
      allowPrivateHosts: [{ host: '127.0.0.1', port: server.port }],
      names: new Map([['chain.demo', { host: '127.0.0.1', port: server.port }]]),
      forbiddenPorts: () => forbidden,
    });
    const urls = [`http://127.0.0.1:${server.port}/`, 'http://chain.demo/'];
    for (const url of urls) expect((await outgoing.request({ method: 'GET', url })).status).toBe(200);
    const reached = server.connections();
    forbidden.push(server.port);
    for (const url of urls) {
      await expect(outgoing.request({ method: 'GET', url })).rejects.toMatchObject({ code: 'refused' });
    }
    expect(server.connections()).toBe(reached);
  });

  test('an error does not tell where a name led', async () => {
    const server = await listenHttp(() => {});
    await server.close();
    const outgoing = open({ names: new Map([['shop.demo', { host: '127.0.0.1', port: server.port }]]) });
    const failure = await outgoing.request({ method: 'GET', url: 'http://shop.demo/' }).catch((error) => error);
    expect(failure).toMatchObject({ code: 'unreachable', message: 'The host could not be reached.' });
    expect(failure.cause).toBeUndefined();
  });

  test('a proxy of the environment is not asked', async () => {
    const proxy = closing(await listenHttp((_, response) => response.end('proxied')));
    const server = closing(await listenHttp((_, response) => response.end('direct')));
    closers.push(async () => void vi.unstubAllEnvs());
    for (const name of ['http_proxy', 'https_proxy', 'all_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY']) {
      vi.stubEnv(name, `http://127.0.0.1:${proxy.port}`);
    }
    vi.stubEnv('NODE_USE_ENV_PROXY', '1');
    const outgoing = open({ allowPrivateHosts: [{ host: '127.0.0.1', port: server.port }] });
    const { body } = await outgoing.request({ method: 'GET', url: `http://127.0.0.1:${server.port}/` });
    expect(body.toString()).toBe('direct');
    expect(proxy.connections()).toBe(0);
  });
});
