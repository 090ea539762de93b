import { type Hex, toHex } from 'viem';
import { describe, expect, it } from 'vitest';
import { createEvmNode, type RpcOutcome } from './evm-node.ts';
import { limitCall, runsCode } from './limit-call.ts';

const gasOf = (method: string, request: object) =>
  (limitCall({ method, params: [request, 'latest'] }).params[0] as { gas?: Hex }).gas;

describe('a call that runs code', () => {
  it.each(['eth_call', 'eth_estimateGas'])('%s gets 10 million gas at most', (method) => {
    expect(gasOf(method, { to: '0x' })).toBe(toHex(10_000_000n));
    expect(gasOf(method, { gas: '0xffffffffffffffff' })).toBe(toHex(10_000_000n));
    expect(gasOf(method, { gas: '0x5208' })).toBe('0x5208');
  });

  it('that is traced gets a million', () => {
    expect(gasOf('debug_traceCall', { gas: '0xffffffff' })).toBe(toHex(1_000_000n));
    expect(gasOf('debug_traceCall', {})).toBe(toHex(1_000_000n));
  });

  it('keeps everything else that it asks for', () => {
    const call = {
      method: 'eth_call',
      params: [{ to: '0x01', data: '0x02', gas: '0xffffffff' }, 'latest', { '0x03': {} }],
    };
    expect(limitCall(call).params).toEqual([
      { to: '0x01', data: '0x02', gas: toHex(10_000_000n) },
      'latest',
      { '0x03': {} },
    ]);
  });

  it.each([[[]], [[null]], [['0x']]])('is left to the node when it cannot be understood: %j', (params) => {
    expect(limitCall({ method: 'eth_call', params }).params).toEqual(params);
  });

  it('is no other', () => {
    const call = { method: 'eth_sendTransaction', params: [{ gas: '0xffffffff' }] };
    expect(runsCode(call)).toBe(false);
    expect(limitCall(call)).toBe(call);
  });
});

describe('a node', () => {
  const loop = '0x000000000000000000000000000000000000100b';
  // GAS, PUSH0, MSTORE, PUSH1 32, PUSH0, RETURN
  const gasLeft = '0x5a5f5260205ff3';

  it.each([
    undefined,
    null,
    30_000_000,
    '30000000',
    '30_000_000',
    '0X1C9C380',
    '0b1111111111111111111111111',
    '0o160000000',
  ])('gives a call no more gas than is allowed, however %j is written', async (gas) => {
    const node = await createEvmNode({ chainId: 137, genesisTime: 1_700_000_000, richAccount: loop });
    await node.call('hardhat_setCode', [loop, gasLeft]);
    const { params } = limitCall({ method: 'eth_call', params: [{ to: loop, gas }, 'latest'] });
    const { result } = (await node.call('eth_call', params)) as { readonly result: Hex };
    expect(BigInt(result)).toBeLessThan(10_000_000n);
  });

  // JUMPDEST, PUSH1 0, JUMP
  const forever = '0x5b600056';

  it('ends a loop when its gas is used up, and this process goes on meanwhile', async () => {
    const node = await createEvmNode({ chainId: 137, genesisTime: 1_700_000_000, richAccount: loop });
    await node.call('hardhat_setCode', [loop, forever]);
    let turns = 0;
    const ticking = setInterval(() => turns++, 1);
    const outcome: RpcOutcome = await node.call('eth_call', [{ to: loop, gas: toHex(1_000_000n) }, 'latest']);
    clearInterval(ticking);
    expect(outcome).toHaveProperty('error');
    expect(turns).toBeGreaterThan(0);
  });
});
