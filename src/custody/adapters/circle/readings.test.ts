import fc from 'fast-check';
import { formatEther, hashTypedData, type TypedDataDefinition } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { describe, expect, it } from 'vitest';
import { requestKey, toContractSignature, toTypedDataText } from './circle-request.ts';
import { parseNetworkFee } from './look-up.ts';

describe('the network fee', () => {
  it('is read to the last wei, however large or small', () => {
    expect(parseNetworkFee('0.000000000000000001')).toBe(1n);
    expect(parseNetworkFee('123456789.123456789123456789')).toBe(123456789123456789123456789n);
    expect(parseNetworkFee('0.0001246397138')).toBe(124639713800000n);
    expect(parseNetworkFee('7')).toBe(7n * 10n ** 18n);
    expect(parseNetworkFee('0.10000000000000000000')).toBe(10n ** 17n);
    fc.assert(fc.property(fc.bigInt({ min: 0n, max: 2n ** 96n }), (wei) => parseNetworkFee(formatEther(wei)) === wei));
  });

  it.each([undefined, '', '-1', '1e-7', '.5', '1.', '0x10', '1,5', ' 1', 'NaN', '0.0000000000000000001'])(
    'is not guessed from %j',
    (text) => {
      expect(parseNetworkFee(text)).toBeUndefined();
    },
  );
});

describe('the key of a request', () => {
  it('is left as it is when it is a UUID of version 4', () => {
    expect(requestKey('A0EEBC99-9c0b-4ef8-bb6d-6bb9bd380a11')).toBe('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11');
  });

  it('is made from any other UUID, always the same one', () => {
    const first = requestKey('018f3c3a-7c00-7abc-8def-0123456789ab');
    expect(first).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(requestKey('018F3C3A-7C00-7ABC-8DEF-0123456789AB')).toBe(first);
    expect(requestKey('018f3c3a-7c00-7abc-8def-0123456789ac')).not.toBe(first);
  });
});

describe('typed data', () => {
  const typedData: TypedDataDefinition = {
    domain: {
      name: 'USD Coin',
      version: '2',
      chainId: 137n,
      verifyingContract: '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359',
    },
    types: {
      Permit: [
        { name: 'owner', type: 'address' },
        { name: 'value', type: 'uint256' },
        { name: 'nonce', type: 'bytes32' },
      ],
    },
    primaryType: 'Permit',
    message: {
      owner: '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359',
      value: 2n ** 255n + 1n,
      nonce: `0x${'ab'.repeat(32)}`,
    },
  };

  it('means the same after its way through JSON', () => {
    const read = JSON.parse(toTypedDataText(typedData)) as TypedDataDefinition;
    expect(hashTypedData(read)).toBe(hashTypedData(typedData));
    expect(Object.keys(read.types)).toEqual(['EIP712Domain', 'Permit']);
    expect(read.domain?.chainId).toBe(137);
  });

  it('is signed as token contracts read it, whichever way the signer wrote the last byte', async () => {
    const account = privateKeyToAccount(`0x${'11'.repeat(32)}`);
    const signature = await account.signTypedData(typedData);
    const last = Number.parseInt(signature.slice(-2), 16) - 27;
    expect(toContractSignature(`${signature.slice(0, -2)}0${last}` as `0x${string}`)).toBe(signature);
    expect(toContractSignature(signature)).toBe(signature);
  });
});
