import { expect, test } from 'vitest';
import { lookUpWitnesses, witnessOf } from './witness.ts';

const areOne = (...urls: string[]) => new Set(urls.map((url) => witnessOf(url))).size === 1;

test('this machine is one witness, however it is called', () => {
  expect(
    areOne(
      'http://127.0.0.1:8545',
      'http://localhost:8546',
      'http://LOCALHOST./',
      'http://node-b.localhost',
      'http://127.1.2.3',
      'http://[::1]:8545',
      'http://[::ffff:127.0.0.1]',
      'http://0.0.0.0:8545',
      'http://2130706433/',
    ),
  ).toBe(true);
  expect(witnessOf('https://node.example.com', ['127.0.0.1'])).toBe(witnessOf('http://localhost'));
});

test('a domain that can be registered is one witness, and another domain another', () => {
  expect(
    areOne('https://polygon.alpha.example.com/v2/key', 'https://EXAMPLE.com.', 'https://eth.example.com:8443'),
  ).toBe(true);
  expect(areOne('https://one.co.uk', 'https://two.co.uk')).toBe(false);
  expect(areOne('https://rpc.example.com', 'https://rpc.example.org')).toBe(false);
});

test('an address in a network of one’s own is one witness by whichever name it is reached', () => {
  const names = ['https://node-a.corp.example', 'https://node-b.other.example'] as const;
  expect(witnessOf(names[0], ['10.0.0.5'])).toBe(witnessOf(names[1], ['10.0.0.5']));
  expect(witnessOf(names[0], ['10.0.0.5'])).toBe(witnessOf('http://10.0.0.5:8545'));
  expect(witnessOf('http://10.0.0.5')).not.toBe(witnessOf('http://10.0.0.6'));
  // Two providers behind one network that delivers for both.
  expect(witnessOf(names[0], ['104.16.0.1'])).not.toBe(witnessOf(names[1], ['104.16.0.1']));
});

test('names are looked up, and one that leads nowhere is only a name', async () => {
  const witness = await lookUpWitnesses(['http://localhost:1', 'http://nowhere.invalid', 'http://10.0.0.5']);
  expect(witness('http://localhost:1')).toBe(witnessOf('http://127.0.0.1'));
  expect(witness('http://nowhere.invalid')).toBe('nowhere.invalid');
  expect(witness('http://10.0.0.5')).toBe('10.0.0.5');
});
