import { expect, test } from 'vitest';
import { createNetworks } from './network.ts';
import { joinWitnesses, lookUpWitnesses } from './witness.ts';

type Given = string | readonly [url: string, ...addresses: string[]];

/** The witnesses that a machine at 192.0.2.2 finds for nodes whose names resolve to these addresses. */
function witnessesOf(...given: readonly Given[]) {
  const nodes = given.map((each) => {
    const [url, ...addresses] = typeof each === 'string' ? [each] : each;
    return { url, addresses };
  });
  const witness = joinWitnesses(nodes, ['192.0.2.2', '203.0.113.7', 'fd00::2', 'fe80::2%eth0']);
  return nodes.map(({ url }) => witness(url));
}

const countOf = (...given: readonly Given[]) => new Set(witnessesOf(...given)).size;

test('this machine is one witness, however it is called', () => {
  expect(
    countOf(
      'http://127.0.0.1:8545',
      'http://localhost:8546',
      'http://LOCALHOST./',
      'http://node-b.localhost',
      'http://127.1.2.3',
      'http://[::1]:8545',
      'http://[::ffff:127.0.0.1]',
      'http://[64:ff9b::7f00:1]',
      'http://0.0.0.0:8545',
      'http://2130706433/',
      ['https://node.example.com', '127.0.0.1'],
    ),
  ).toBe(1);
});

test('this machine is the same witness at the addresses of its network cards', () => {
  expect(
    new Set(
      witnessesOf(
        'http://127.0.0.1:8545',
        'http://192.0.2.2',
        'http://[fd00::2]:8545',
        ['https://node.lan', '192.0.2.2'],
        ['https://link.lan', 'fe80::2%eth1'],
        ['https://rpc.example.com', '203.0.113.7'],
      ),
    ),
  ).toEqual(new Set(['this machine']));
});

test('a domain that can be registered is one witness, and another domain another', () => {
  const names = ['https://polygon.alpha.example.com/v2/key', 'https://EXAMPLE.com.', 'https://eth.example.com:8443'];
  expect(countOf(...names)).toBe(1);
  expect(countOf('https://one.co.uk', 'https://two.co.uk')).toBe(2);
  expect(countOf('https://rpc.example.com', 'https://rpc.example.org')).toBe(2);
});

test('an address in a network of one’s own is one witness by whichever name it is reached', () => {
  expect(
    countOf(
      ['https://node-a.corp.example', '10.0.0.5'],
      ['https://node-b.other.example', '10.0.0.5'],
      'http://10.0.0.5',
    ),
  ).toBe(1);
  expect(countOf('http://10.0.0.5', 'http://10.0.0.6')).toBe(2);
  expect(countOf('http://10.0.0.5', 'http://[64:ff9b::a00:5]', 'http://[::ffff:10.0.0.5]')).toBe(1);
});

test('public addresses are not compared, for one network delivers for many', () => {
  expect(countOf(['https://rpc.example.com', '104.16.0.1'], ['https://rpc.example.org', '104.16.0.1'])).toBe(2);
});

test('two nodes are one witness when any of their addresses meet, and when each meets a third', () => {
  expect(countOf(['https://node-a', '10.0.0.5', '10.0.0.6'], ['https://node-b', '10.0.0.6'])).toBe(1);
  expect(countOf(['https://node-a', '10.0.0.5', 'fd00::5'], 'https://[fd00::5]')).toBe(1);
  expect(countOf(['https://node-a', '10.0.0.5', 'fd00::5'], ['https://node-b', 'fd00::5'])).toBe(1);
  expect(
    countOf(
      'http://10.0.0.5',
      'http://[fd00::5]',
      ['https://a.example.com', '10.0.0.5'],
      ['https://b.example.com', 'fd00::5'],
    ),
  ).toBe(1);
});

test('names are looked up', async () => {
  const urls = ['http://localhost:1', 'http://node-a.lan', 'http://10.0.0.5', 'https://rpc.example.com'];
  const found: Record<string, string[]> = { localhost: ['::1'], 'node-a.lan': ['10.0.0.5'], '10.0.0.5': ['10.0.0.5'] };
  const witness = await lookUpWitnesses(urls, async (host) => found[host]);
  expect(urls.map(witness)).toEqual(['this machine', 'node-a.lan', 'node-a.lan', 'example.com']);
});

test('a private name that could not be looked up is nobody beside the others, and is asked last', async () => {
  const lost = ['https://node1', 'https://node.internal', 'https://node.home.arpa', 'https://node.corp'];
  const urls = [...lost, 'https://rpc.example.com', 'http://10.0.0.5'];
  const witness = await lookUpWitnesses(urls, async (host) => (host === '10.0.0.5' ? [host] : undefined));
  expect(lost.map(witness)).toEqual(lost.map(() => undefined));
  const connect = (some: readonly string[]) =>
    createNetworks(new Map([['MATIC', { urls: some, witness, confirmations: 1, pollMs: 1_000 }]])).get('MATIC');
  const hosts = (some: readonly string[]) => connect(some)?.nodes.map(({ host }) => host);
  expect(hosts(urls)).toEqual(['example.com', '10.0.0.5']);
  expect(connect(urls)?.client.chain?.rpcUrls.default.http).toEqual([...urls.slice(-2), ...lost]);
  // With a single known node there is no reviewer.
  expect(hosts(['https://node1', 'http://10.0.0.5'])).toEqual(['10.0.0.5']);
  expect(connect(['https://node1', 'http://10.0.0.5'])?.reviewer).toBeUndefined();
  expect(new Set(hosts(lost))).toEqual(new Set(['unknown']));
  expect(connect(lost)?.reviewer).toBeUndefined();
});
