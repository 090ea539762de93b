import { randomBytes, randomInt } from 'node:crypto';
import { type Hex, recoverTypedDataAddress, size } from 'viem';
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
const recover = createRecoverPayer(domain);
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
  it('is the one that the token recovers', async () => {
    expect(await recover({ ...authorization, signature })).toBe(payer.address.toLowerCase());
  });

  it.each([
    ['another amount', { atomic: 101n }],
    ['another recipient', { to: payer.address }],
    ['another beginning', { validAfter: 0n }],
    ['another end', { validBefore: 9n }],
    ['another nonce', { nonce: `0x${'a8'.repeat(32)}` as Hex }],
  ])('differs for %s', async (_, change) => {
    expect(await recover({ ...authorization, ...change, signature })).not.toBe(payer.address.toLowerCase());
  });

  it('is undefined for a signature that the token would refuse', async () => {
    const [r, s, v] = [signature.slice(2, 66), signature.slice(66, 130), signature.slice(130)];
    const twin = (order - BigInt(`0x${s}`)).toString(16).padStart(64, '0');
    const flipped = v === '1b' ? '1c' : '1b';
    for (const other of [`${r}${twin}${flipped}`, `${r}${s}00`, `${r}${s}1d`, `${r}${s}`, `${'0'.repeat(128)}1b`]) {
      expect(await recover({ ...authorization, signature: `0x${other}` })).toBeUndefined();
    }
    expect(await recover({ ...authorization, signature: `0x${'ff'.repeat(64)}1b` })).toBeUndefined();
  });

  it('is the one that viem recovers, for valid and invalid signatures', async () => {
    const keys = Array.from({ length: 4 }, () => privateKeyToAccount(generatePrivateKey()));
    const uint = () => BigInt(`0x${randomBytes(1 + randomInt(32)).toString('hex')}`);
    const signed = await Promise.all(
      Array.from({ length: 40 }, async (_, index) => {
        const signer = keys[index % keys.length] as (typeof keys)[number];
        const nonce: Hex = `0x${randomBytes(32).toString('hex')}`;
        const one = { ...authorization, from: signer.address, atomic: uint(), validBefore: uint(), nonce };
        return { ...one, signature: await signer.signTypedData(toTypedData(domain, one) as never) };
      }),
    );
    const cases = signed.flatMap((one, index) =>
      spoil(one.signature, index).map((other) => ({ ...one, signature: other })),
    );
    const ours = await Promise.all(cases.map(recover));
    const viems = await Promise.all(cases.map(recoverAsToken));
    expect(ours).toEqual(viems);
    expect(ours.filter((signer, index) => signer === cases[index]?.from.toLowerCase())).toHaveLength(signed.length);
  });
});

/** The signature itself and others that were made from it. */
function spoil(good: Hex, index: number): Hex[] {
  const [r, s, v] = [good.slice(2, 66), good.slice(66, 130), good.slice(130)];
  const flipped = v === '1b' ? '1c' : '1b';
  const bytes = Buffer.from(good.slice(2), 'hex');
  bytes[index % 64] = (bytes[index % 64] ?? 0) ^ (1 << (index % 8));
  const twin = (order - BigInt(`0x${s}`)).toString(16).padStart(64, '0');
  const texts = [
    `${r}${s}${v}`,
    bytes.toString('hex'),
    `${r}${s}${flipped}`,
    `${r}${twin}${flipped}`,
    `${r}${s}${v === '1b' ? '00' : '01'}`,
    `${r}${s}1d`,
    `${r}${s}`,
    `${r}${s}${v}00`,
    `${s}${r}${v}`,
    `${r}${'0'.repeat(64)}${v}`,
    `${'0'.repeat(64)}${s}${v}`,
    `${r}${order.toString(16)}${v}`,
    `${order.toString(16)}${s}${v}`,
    randomBytes(64).toString('hex') + v,
  ];
  return texts.map((text): Hex => `0x${text}`);
}

/** Viem accepts more forms than the token, so those are refused before it is asked. */
async function recoverAsToken(one: typeof authorization & { readonly signature: Hex }): Promise<Hex | undefined> {
  const { signature: given } = one;
  if (size(given) !== 65 || !/(?:1b|1c)$/.test(given)) return undefined;
  if (BigInt(`0x${given.slice(66, 130)}`) > order / 2n) return undefined;
  try {
    const signer = await recoverTypedDataAddress({ ...toTypedData(domain, one), signature: given } as never);
    return signer.toLowerCase() as Hex;
  } catch {
    return undefined;
  }
}
