import { createCipheriv, createHash } from 'node:crypto';
import { english } from 'viem/accounts';
import { expect, test } from 'vitest';
import { whyGuessable } from './guessable.ts';

const hashOf = (algorithm: string, text: string, encoding: 'hex' | 'base64' | 'base64url') =>
  createHash(algorithm).update(text).digest(encoding);

const toBase64 = (text: string) => Buffer.from(text).toString('base64');
const counted = Buffer.from(Array.from({ length: 32 }, (_, index) => index));

test.each([
  ['x'.repeat(40), 'different characters'],
  ['abababababababababababababababababab', 'different characters'],
  ['s3cr-t91s3cr-t91s3cr-t91s3cr-t91', 'repeats itself'],
  ['hunter2hunter2hunter2hunter2hunter2!', 'repeats itself'],
  ['TODO-TODO-TODO-TODO-TODO-set-a-key-1', 'repeats itself'],
  ['your-32-character-key-goes-here!!!', 'attackers try first'],
  ['correct horse battery staple again', 'attackers try first'],
  ['abcdefghijklmnopqrstuvwxyz0123456789', 'alphabet'],
  ['qwertyuiopasdfghjklzxcvbnm1234567890', 'keyboard'],
  ['please-change-me-before-going-live-1', 'attackers try first'],
  ['my-very-long-Password-that-nobody-knows', 'attackers try first'],
  ['Paywright-production-2026-key-number-1', 'attackers try first'],
  ['the quick brown fox jumps over the lazy dog', 'published'],
  ['Four score and seven years ago our fathers brought forth', 'sentence'],
  ['My dog is called Rufus and he is 7 years old', 'sentence'],
  ['orbit lantern walnut fjord pepper', 'this simple'],
  ['lantern-walnut-lantern-walnut-orbit-fjord', 'this simple'],
  [hashOf('md5', '', 'hex'), 'hash of a text'],
  [hashOf('md5', 'password', 'hex'), 'hash of a text'],
  [hashOf('md5', 'password\n', 'hex').toUpperCase(), 'hash of a text'],
  [hashOf('sha1', 'sunshine', 'hex'), 'hash of a text'],
  [hashOf('sha256', '', 'hex'), 'hash of a text'],
  [hashOf('sha256', '', 'base64'), 'hash of a text'],
  [hashOf('sha256', 'password1', 'base64url'), 'hash of a text'],
])('%s is guessable', (secret, why) => {
  expect(whyGuessable(secret)).toContain(why);
});

const passwords = [
  '123456',
  'qwerty',
  'admin',
  '12345',
  '111111',
  'abc123',
  'letmein',
  'secret',
  'test',
  'dragon',
  'root',
  'welcome',
];

test.each([...passwords, '1234', '1', 'a', 'hello', 'Password', 'PASSWORD', 'Password1!', 'paywright', 'hello world'])(
  'every hash of %s is guessable',
  (password) => {
    for (const algorithm of ['md5', 'sha1', 'sha256', 'sha384', 'sha512'])
      for (const end of ['', '\n', '\r\n'])
        for (const encoding of ['hex', 'base64', 'base64url'] as const)
          expect(whyGuessable(hashOf(algorithm, password + end, encoding))).toContain('hash of a text');
  },
);

const md5 = hashOf('md5', 'password', 'hex');
const sha256 = hashOf('sha256', 'password', 'hex');

test.each([
  `SHA2-256(stdin)= ${sha256}`,
  `(stdin)= ${md5}`,
  `0x${sha256}`,
  `sha256:${sha256}`,
  `SHA256: ${sha256.toUpperCase()}`,
  `sha256-${hashOf('sha256', 'password', 'base64')}`,
  `{SHA}${hashOf('sha1', 'password', 'base64')}`,
  `"${sha256}"`,
  `'${sha256}'`,
  ` ${sha256}`,
  `${sha256}  -`,
  `${sha256} *secrets.txt`,
  md5.replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, '$1-$2-$3-$4-$5'),
  md5.replaceAll(/..(?!$)/g, '$&:'),
  sha256.slice(0, 40),
  hashOf('sha512', 'password', 'hex').slice(0, 64),
  toBase64(sha256),
  toBase64(`${md5}  -\n`),
])('the hash of a common password is found in %s', (secret) => {
  expect(whyGuessable(secret)).toMatch(/hash of a text|attackers try first/);
});

test.each([
  [toBase64('change-me-change-me-change-me-ok'), 'attackers try first'],
  [toBase64('my dog is called Rufus and he is seven'), 'sentence'],
  [`base64:${toBase64('my dog is called Rufus and he is seven')}`, 'sentence'],
  [Buffer.from('this is my secret password 12345').toString('hex'), 'attackers try first'],
  [counted.toString('hex'), 'counts'],
  [counted.toString('base64'), 'counts'],
  ['acegikmoqsuwy0bdfhjlnprtvxz9ACEGIK', 'alphabet'],
  ['1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik,9ol.', 'keyboard'],
  ['1qaz2wsx!QAZ@WSX3edc4rfv#EDC$RFV', 'keyboard'],
  ['zaq12wsxcde34rfvbgt56yhnmju78ik,', 'keyboard'],
  ['00112233445566778899aabbccddeeff', 'alphabet'],
  ['deadbeefcafebabe0123456789abcdef', 'published'],
  ['3.14159265358979323846264338327950288', 'published'],
  ['2.71828182845904523536028747135266249', 'published'],
  ['123e4567-e89b-12d3-a456-426614174000', 'published'],
  ['550E8400-E29B-41D4-A716-446655440000', 'published'],
  ['0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80', 'published'],
  ['legal winner thank year wave sausage worth useful legal winner thank yellow', 'published'],
  ['TheQuickBrownFoxJumpsOverTheLazyDog', 'published'],
  ['tobeornottobethatisthequestionwhether', 'published'],
  ['kT4vQ9xLm2WzR7pYc8HsD3fJb6NgA5eU', 'published'],
  ['ilovemydogrufusandheisseventeenyearsold', 'this simple'],
  ['WeAllLiveInTheHouseOnTheHill2024', 'this simple'],
  ['meinhundheisstrufusunderistsehralt7', 'this simple'],
  ['Alle meine Entchen schwimmen auf dem See', 'sentence'],
  ['Mein Hund heißt Rufus und er ist sieben Jahre alt', 'sentence'],
  ['mi perro se llama Rufus y tiene siete anos', 'sentence'],
  ['le petit chat dort sur la chaise du salon', 'sentence'],
  ['monday-tuesday-wednesday-thursday-friday-saturday-sunday', 'list'],
  ['january february march april june july august september', 'list'],
  ['alpha bravo charlie delta echo foxtrot golf hotel india', 'list'],
  ['one two three four five six seven eight nine ten', 'list'],
])('%s is guessable, too', (secret, why) => {
  expect(whyGuessable(secret)).toContain(why);
});

/** The same bytes in every run: a stream cipher over zeros. */
const stream = createCipheriv('aes-256-ctr', Buffer.alloc(32, 7), Buffer.alloc(16));
const randomBytes = (count: number) => stream.update(Buffer.alloc(count));
const printable = Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index)).join('');
const alphanumeric = printable.replaceAll(/[^A-Za-z0-9]/g, '');
const pick = (letters: string) =>
  Array.from({ length: 32 }, () => letters[randomBytes(4).readUInt32BE() % letters.length]).join('');
const harmless = english.filter((word) => !/secret|replace|example|insert|change/.test(word));
const pickWords = () =>
  Array.from({ length: 12 }, () => harmless[randomBytes(4).readUInt32BE() % harmless.length]).join(' ');

test.each<[string, () => string]>([
  ['openssl rand -hex 16', () => randomBytes(16).toString('hex')],
  ['openssl rand -hex 32', () => randomBytes(32).toString('hex')],
  ['openssl rand -base64 24', () => randomBytes(24).toString('base64')],
  ['openssl rand -base64 32, as paywright secret', () => randomBytes(32).toString('base64')],
  ['openssl rand -base64 48', () => randomBytes(48).toString('base64')],
  ['base64url of 32 bytes', () => randomBytes(32).toString('base64url')],
  [
    'uuid',
    () =>
      randomBytes(16)
        .toString('hex')
        .replace(/(.{8})(.{4}).(.{3}).(.{3})(.{12})/, '$1-$2-4$3-a$4-$5'),
  ],
  ['pwgen 32', () => pick(alphanumeric)],
  ['32 printable characters', () => pick(printable)],
  ['twelve words of BIP-39', pickWords],
])('nothing is refused that chance has made: %s', (_, make) => {
  for (let round = 0; round < 400; round++) {
    const secret = make();
    expect(whyGuessable(secret), secret).toBeUndefined();
  }
});

test('nor is a passphrase, whatever stands between its words', () => {
  for (const separator of [' ', '-', '.', '_']) {
    const words = ['orbit', 'lantern', 'walnut', 'fjord', 'pepper', 'mosaic', 'quiver', 'tundra'];
    expect(whyGuessable(words.join(separator))).toBeUndefined();
  }
});
