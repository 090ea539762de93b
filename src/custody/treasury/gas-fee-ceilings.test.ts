import { parseGwei } from 'viem';
import { describe, expect, it } from 'vitest';
import { composeSettings } from '../../app/settings.ts';
import { treasury } from './feature.ts';

function ceilings(env: Record<string, string>) {
  const { settings } = composeSettings(env, [treasury], { isRoot: false, readFile: () => '' });
  return (settings.get('treasury') as ReturnType<NonNullable<typeof treasury.settings>['read']>).feeCeilings;
}

describe('the ceilings of fees', () => {
  it('are there without being asked for, on every chain', () => {
    const usual = ceilings({});
    expect(usual.size).toBe(6);
    expect(usual.get('ETH')).toEqual({
      maxFee: parseGwei('500'),
      priorityFee: parseGwei('50'),
      gasLimit: 10_000_000n,
    });
  });

  it('can be set for some chains, and stay as they are for the others', () => {
    const set = ceilings({
      FEE_CEILING_GWEI: 'ETH=20.5, BASE=1',
    });
    expect(set.get('ETH')).toEqual({
      maxFee: parseGwei('20.5'),
      priorityFee: parseGwei('20.5'),
      gasLimit: 10_000_000n,
    });
    // A tip is never more than the whole.
    expect(set.get('BASE')).toMatchObject({ maxFee: parseGwei('1'), priorityFee: parseGwei('1') });
    expect(set.get('OP')?.maxFee).toBe(parseGwei('50'));
  });

  it.each(['ETH', 'ETH=', 'ETH=-1', 'SOL=1', 'ETH=1=2', 'ETH=1e9', 'ETH=0', 'ETH=100001', ''.padEnd(3, ',')])(
    'are not understood as "%s"',
    (text) => {
      expect(() => ceilings({ FEE_CEILING_GWEI: text })).toThrow(/^FEE_CEILING_GWEI must/);
    },
  );

  it('cannot be so high in live mode that they protect nothing', () => {
    const live = {
      PAYWRIGHT_MODE: 'live',
      FEE_CEILING_GWEI: 'ETH=5001,OP=500',
    };
    expect(() => ceilings(live)).toThrow('FEE_CEILING_GWEI is unsafe: ETH may be at most 5000 gwei');
    expect(() => ceilings(live)).not.toThrow(/OP may/);
  });
});
