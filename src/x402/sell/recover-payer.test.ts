import type { Hex } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { describe, expect, it } from 'vitest';
import { toTypedData } from '../../chains/authorization.ts';
import { createRecoverPayer } from './recover-payer.ts';

const domain = {
  name: 'USD Coin',
  version: '2',
  chainId: 137,
  verifyingContract: '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359',
} as const;
const recover = await createRecoverPayer(domain);
const payer = privateKeyToAccount(generatePrivateKey());
const authorization = {
  from: payer.address,
  to: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359' as Hex,
  atomic: 100n,
  validAfter: 7n,
  validBefore: 2n ** 256n - 1n,
  nonce: `0x${'a7'.repeat(32)}` as Hex,
};
const signature = await payer.signTypedData(toTypedData(domain, authorization) as never);

const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

describe('the recovered signer', () => {
  it('is the one that the token recovers', () => {
    expect(recover({ ...authorization, signature })).toBe(payer.address.toLowerCase());
  });

  it.each([
    ['another amount', { atomic: 101n }],
    ['another recipient', { to: payer.address }],
    ['another beginning', { validAfter: 0n }],
    ['another end', { validBefore: 9n }],
    ['another nonce', { nonce: `0x${'a8'.repeat(32)}` as Hex }],
  ])('differs for %s', (_, change) => {
    expect(recover({ ...authorization, ...change, signature })).not.toBe(payer.address.toLowerCase());
  });

  it('is undefined for a signature that the token would refuse', () => {
    const [r, s, v] = [signature.slice(2, 66), signature.slice(66, 130), signature.slice(130)];
    const twin = (order - BigInt(`0x${s}`)).toString(16).padStart(64, '0');
    const flipped = v === '1b' ? '1c' : '1b';
    for (const other of [`${r}${twin}${flipped}`, `${r}${s}00`, `${r}${s}1d`, `${r}${s}`, `${'0'.repeat(128)}1b`]) {
      expect(recover({ ...authorization, signature: `0x${other}` })).toBeUndefined();
    }
    expect(recover({ ...authorization, signature: `0x${'ff'.repeat(64)}1b` })).toBeUndefined();
  });
});
