import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { amountOf, toDecimalText } from './amount.ts';
import { assetIds, assets } from './catalogue.ts';
import { leastWithdrawalFor, orderFee, swapFee, transferFee, withdrawalFee } from './fees.ts';
import { amountFromText } from './parse-amount.ts';

function usdc(text: string) {
  const parsed = amountFromText('USDC', text);
  if (!parsed.ok) throw new Error(parsed.message);
  return parsed.amount;
}

describe('fees', () => {
  it.each([
    ['50', '0.75', '0.745', '0.25'],
    ['100', '1.49', '1.49', '0.5'],
    ['1', '0.01', '0.015', '0.005'],
    ['0.33', '0', '0.005', '0.00165'],
    ['0.335571', '0.01', '0.005', '0.001678'],
    ['0.33557', '0', '0.005', '0.001678'],
    ['0.01', '0', '0', '0.00005'],
    ['0.000001', '0', '0', '0'],
    ['900000000', '13410000', '13410000', '4500000'],
  ])('on %s are %s for a transfer, %s for a withdrawal, %s for a swap', (amount, transfer, withdrawal, swap) => {
    expect(toDecimalText(transferFee(usdc(amount)))).toBe(transfer);
    expect(toDecimalText(orderFee(usdc(amount)))).toBe(transfer);
    expect(toDecimalText(withdrawalFee(usdc(amount)))).toBe(withdrawal);
    expect(toDecimalText(swapFee(usdc(amount)))).toBe(swap);
  });

  it('keep all eighteen decimals when a coin is paid out, so that no amount is free', () => {
    expect(withdrawalFee(amountOf('ETH', 1_000_000_000_000_000_100n)).atomic).toBe(14_900_000_000_000_001n);
    expect(withdrawalFee(amountOf('DAI', 100n)).atomic).toBe(1n);
  });

  it('are reached by one amount of a withdrawal, and not by one unit less', () => {
    expect(toDecimalText(leastWithdrawalFor(usdc('0.745')))).toBe('49.966443');
    expect(leastWithdrawalFor(amountOf('USDC', 0n)).atomic).toBe(0n);
    fc.assert(
      fc.property(fc.constantFrom('USDC' as const, 'EURC' as const), fc.bigInt(1n, 200_000_000n), (asset, wanted) => {
        const least = leastWithdrawalFor(amountOf(asset, wanted));
        expect(withdrawalFee(least).atomic).toBeGreaterThanOrEqual(wanted);
        expect(withdrawalFee(amountOf(asset, least.atomic - 1n)).atomic).toBeLessThan(wanted);
      }),
    );
  });

  it('keep all eighteen decimals of a swap', () => {
    expect(swapFee(amountOf('ETH', 1_000_000_000_000_000_100n)).atomic).toBe(5_000_000_000_000_001n);
  });

  it('are within half a place of the rate and never exceed the amount', () => {
    fc.assert(
      fc.property(fc.constantFrom(...assetIds), fc.bigInt({ min: 1n, max: 10n ** 27n }), (asset, atomic) => {
        const place = 10n ** BigInt(assets[asset].decimals - 2);
        const fee = transferFee(amountOf(asset, atomic)).atomic;
        const off = fee * 10_000n - atomic * 149n;
        expect(fee % place).toBe(0n);
        expect(fee <= atomic && withdrawalFee(amountOf(asset, atomic)).atomic <= atomic).toBe(true);
        expect(2n * off <= 10_000n * place && 2n * off > -10_000n * place).toBe(true);
      }),
    );
  });

  it('are exactly the rate of the amount, rounded half up to the places of the rule', () => {
    const byRule = (atomic: bigint, basisPoints: bigint, place: bigint) =>
      ((2n * atomic * basisPoints + 10_000n * place) / (20_000n * place)) * place;
    fc.assert(
      fc.property(fc.constantFrom(...assetIds), fc.bigInt({ min: 0n, max: 10n ** 27n }), (asset, atomic) => {
        const { decimals } = assets[asset];
        const amount = amountOf(asset, atomic);
        expect(transferFee(amount).atomic).toBe(byRule(atomic, 149n, 10n ** BigInt(decimals - 2)));
        expect(withdrawalFee(amount).atomic).toBe(
          byRule(atomic, 149n, decimals > 6 ? 1n : 10n ** BigInt(decimals - 3)),
        );
        expect(swapFee(amount).atomic).toBe(byRule(atomic, 50n, 1n));
      }),
    );
  });

  it('do not exist on a negative amount', () => {
    expect(() => transferFee(amountOf('USDC', -1n))).toThrow(RangeError);
  });
});
