import {
  type Abi,
  type Address,
  encodeFunctionData,
  type Hex,
  maxUint256,
  pad,
  parseSignature,
  toHex,
  zeroAddress,
} from 'viem';
import { describe, expect, test } from 'vitest';
import compiled from '../../../../sandbox/coins/compiled-contracts.json' with { type: 'json' };
import { tokenAbi } from '../../../../src/chains/abi.ts';
import { chains as facts } from '../../../../src/money/catalogue.ts';
import { type Outsider, useChains } from '../../../support/chains.ts';
import { useDatabase } from '../../../support/database.ts';

const chains = useChains(useDatabase());
const abi = compiled.UChildDAI.abi as Abi;
const tokens = { DAI: facts.MATIC.tokens.DAI, ETH: facts.MATIC.tokens.ETH } as const;
type Coin = keyof typeof tokens;
const coins = Object.keys(tokens) as Coin[];

function read<Result>(coin: Coin, functionName: string, args: readonly unknown[] = []): Promise<Result> {
  const { client } = chains.network('MATIC');
  return client.readContract({ abi, address: tokens[coin], functionName, args }) as Promise<Result>;
}

/** What the chain would say to this call. */
function attempt(from: Outsider, coin: Coin, functionName: string, args: readonly unknown[]) {
  const { client } = chains.network('MATIC');
  return client.simulateContract({ abi, address: tokens[coin], functionName, args, account: from.address });
}

async function send(from: Outsider, coin: Coin, functionName: string, args: readonly unknown[]): Promise<void> {
  const { client } = chains.network('MATIC');
  const call = { abi, address: tokens[coin], functionName, args, account: from.account, chain: client.chain ?? null };
  const { status } = await client.getTransactionReceipt({ hash: await from.wallet().writeContract(call) });
  expect(status).toBe('success');
}

const owner = (asset: Coin, atomic = 10n) => chains.outsider({ tokens: [{ asset, atomic }] });

function domain(name: string, verifyingContract: Address) {
  return { name, version: '1', verifyingContract, salt: pad(toHex(137)) } as const;
}

describe.each(coins)('%s on Polygon', (coin) => {
  test('is lent by allowance, also by the difference, and no allowance is without end', async () => {
    const [ada, grace] = [await owner(coin), await chains.outsider()];
    const given = () => read<bigint>(coin, 'allowance', [ada.address, grace.address]);
    await send(ada, coin, 'approve', [grace.address, maxUint256]);
    await send(grace, coin, 'transferFrom', [ada.address, grace.address, 4n]);
    expect(await given()).toBe(maxUint256 - 4n);
    await expect(attempt(ada, coin, 'increaseAllowance', [grace.address, 5n])).rejects.toThrow('addition overflow');
    await send(ada, coin, 'decreaseAllowance', [grace.address, maxUint256 - 4n]);
    await send(ada, coin, 'increaseAllowance', [grace.address, 3n]);
    expect(await given()).toBe(3n);
    await expect(attempt(ada, coin, 'decreaseAllowance', [grace.address, 4n])).rejects.toThrow(
      'ERC20: decreased allowance below zero',
    );
    await expect(attempt(grace, coin, 'transferFrom', [ada.address, grace.address, 4n])).rejects.toThrow(
      'ERC20: transfer amount exceeds allowance',
    );
    expect(await read(coin, 'balanceOf', [grace.address])).toBe(4n);
  });

  test('refuses in the words of the real one', async () => {
    const ada = await owner(coin);
    await expect(attempt(ada, coin, 'transfer', [ada.address, 11n])).rejects.toThrow(
      'ERC20: transfer amount exceeds balance',
    );
    await expect(attempt(ada, coin, 'transfer', [zeroAddress, 1n])).rejects.toThrow(
      'ERC20: transfer to the zero address',
    );
    await expect(attempt(ada, coin, 'approve', [zeroAddress, 1n])).rejects.toThrow(
      'ERC20: approve to the zero address',
    );
    await expect(attempt(ada, coin, 'withdraw', [11n])).rejects.toThrow('ERC20: burn amount exceeds balance');
    await expect(attempt(ada, coin, 'deposit', [ada.address, pad('0x1')])).rejects.toThrow(
      coin === 'DAI' ? 'ChildDAI: INSUFFICIENT_PERMISSIONS' : 'ChildERC20: INSUFFICIENT_PERMISSIONS',
    );
    await expect(attempt(ada, coin, 'grantRole', [pad('0x0'), ada.address])).rejects.toThrow('must be an admin');
  });

  test('goes back over the bridge by being burnt', async () => {
    const ada = await owner(coin);
    const supply = await read<bigint>(coin, 'totalSupply');
    await send(ada, coin, 'withdraw', [4n]);
    expect(await read(coin, 'balanceOf', [ada.address])).toBe(6n);
    expect(await read(coin, 'totalSupply')).toBe(supply - 4n);
  });

  test('is sent by whoever is shown a signed call, once', async () => {
    const [ada, grace] = [await owner(coin), await chains.outsider()];
    const functionSignature = encodeFunctionData({
      abi: tokenAbi,
      functionName: 'transfer',
      args: [grace.address, 7n],
    });
    const signature = await ada.wallet().signTypedData({
      account: ada.account,
      domain: domain(await read<string>(coin, 'name'), tokens[coin]),
      types: {
        EIP712Domain: [
          { name: 'name', type: 'string' },
          { name: 'version', type: 'string' },
          { name: 'verifyingContract', type: 'address' },
          { name: 'salt', type: 'bytes32' },
        ],
        MetaTransaction: [
          { name: 'nonce', type: 'uint256' },
          { name: 'from', type: 'address' },
          { name: 'functionSignature', type: 'bytes' },
        ],
      },
      primaryType: 'MetaTransaction',
      message: { nonce: await read<bigint>(coin, 'getNonce', [ada.address]), from: ada.address, functionSignature },
    });
    const { r, s, v } = parseSignature(signature);
    const call = [ada.address, functionSignature, r, s, Number(v)];
    await send(grace, coin, 'executeMetaTransaction', call);
    expect(await read(coin, 'balanceOf', [grace.address])).toBe(7n);
    await expect(attempt(grace, coin, 'executeMetaTransaction', call)).rejects.toThrow(
      'Signer and signature do not match',
    );
  });

  test('knows no transfer by authorization and no approval as EIP-2612 has it', async () => {
    const { client } = chains.network('MATIC');
    const calls: readonly Hex[] = [
      encodeFunctionData({ abi: tokenAbi, functionName: 'authorizationState', args: [zeroAddress, pad('0x1')] }),
      // nonces(address), DOMAIN_SEPARATOR()
      `0x7ecebe00${pad(zeroAddress).slice(2)}`,
      '0x3644e515',
    ];
    for (const data of calls) await expect(client.call({ to: tokens[coin], data })).rejects.toThrow();
  });
});

test("DAI is approved by signature in DAI's own way, and WETH is not", async () => {
  const [ada, grace] = [await owner('DAI'), await chains.outsider()];
  const signature = await ada.wallet().signTypedData({
    account: ada.account,
    domain: domain('(PoS) Dai Stablecoin', tokens.DAI),
    types: {
      EIP712Domain: [
        { name: 'name', type: 'string' },
        { name: 'version', type: 'string' },
        { name: 'verifyingContract', type: 'address' },
        { name: 'salt', type: 'bytes32' },
      ],
      Permit: [
        { name: 'holder', type: 'address' },
        { name: 'spender', type: 'address' },
        { name: 'nonce', type: 'uint256' },
        { name: 'expiry', type: 'uint256' },
        { name: 'allowed', type: 'bool' },
      ],
    },
    primaryType: 'Permit',
    message: { holder: ada.address, spender: grace.address, nonce: 0n, expiry: 0n, allowed: true },
  });
  const { r, s, v } = parseSignature(signature);
  const call = [ada.address, grace.address, 0n, 0n, true, Number(v), r, s];
  await expect(attempt(grace, 'ETH', 'permit', call)).rejects.toThrow();
  await send(grace, 'DAI', 'permit', call);
  expect(await read('DAI', 'allowance', [ada.address, grace.address])).toBe(maxUint256);
  await expect(attempt(grace, 'DAI', 'permit', call)).rejects.toThrow('UChildDAI: INVALID-NONCE');
  await send(grace, 'DAI', 'pull', [ada.address, 3n]);
  expect(await read('DAI', 'balanceOf', [grace.address])).toBe(3n);
});
