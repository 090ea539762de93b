import { describe, expect, it } from 'vitest';
import { choosePayments, type WaitingPayment, type Wallet } from './choose-payments.ts';

const payer = '0xaa';
const idle = { count: 0, atomic: 0n, prepaid: 0n };
const wallet = (of: Partial<Wallet>): Wallet => ({
  balance: 1_000n,
  credit: 0n,
  underWay: idle,
  arrivals: 1_000,
  hasFailed: false,
  ...of,
});

function choices(of: Partial<Wallet>, payments: readonly Partial<WaitingPayment>[]): string[] {
  const waiting = payments.map((payment, index) => ({
    id: `${index}`,
    payer,
    nonce: `0x${index}`,
    atomic: 100n,
    prepaid: false,
    isUsed: false,
    ...payment,
  })) as WaitingPayment[];
  const chosen = choosePayments(waiting, new Map([[payer, wallet(of)]]));
  return waiting.map(({ id }) => chosen.get(id) ?? 'none');
}

describe('which payments gas is spent on', () => {
  it('submits as many as the balance covers', () => {
    expect(choices({ balance: 250n, credit: 300n }, [{}, {}, {}])).toEqual(['submit', 'submit', 'short']);
    expect(choices({ balance: 99n, credit: 100n }, [{}])).toEqual(['short']);
  });

  it('counts open payments in other settlements', () => {
    const underWay = { count: 2, atomic: 200n, prepaid: 0n };
    expect(choices({ balance: 300n, credit: 400n, underWay }, [{}, {}])).toEqual(['submit', 'short']);
  });

  it('submits served payments first, in any input order', () => {
    expect(choices({ balance: 100n, credit: 100n }, [{ prepaid: true }, {}])).toEqual(['short', 'submit']);
  });

  it('reserves the balance for served payments, even if they are not submitted now', () => {
    expect(choices({ balance: 150n, credit: 100n }, [{ prepaid: true }])).toEqual(['short']);
    expect(choices({ balance: 200n, credit: 100n }, [{ prepaid: true }])).toEqual(['submit']);
    const underWay = { count: 1, atomic: 100n, prepaid: 100n };
    expect(choices({ balance: 200n, credit: 100n, underWay }, [{ prepaid: true }])).toEqual(['short']);
  });

  it('submits no payment whose nonce was used', () => {
    expect(choices({}, [{ isUsed: true }, {}])).toEqual(['used', 'submit']);
  });

  it('submits more at once for a wallet that has paid more', () => {
    const many = Array.from({ length: 20 }, () => ({}));
    const count = (of: Partial<Wallet>) =>
      choices({ balance: 9_000n, ...of }, many).filter((choice) => choice === 'submit').length;
    expect(count({ arrivals: 0 })).toBe(10);
    expect(count({ arrivals: 5 })).toBe(15);
    expect(count({ arrivals: 5, underWay: { count: 14, atomic: 1_400n, prepaid: 0n } })).toBe(1);
  });

  it('submits a single payment of a wallet that has failed', () => {
    expect(choices({ hasFailed: true }, [{}, {}])).toEqual(['submit', 'later']);
    expect(choices({ hasFailed: true, underWay: { count: 1, atomic: 100n, prepaid: 0n } }, [{}])).toEqual(['later']);
  });
});
