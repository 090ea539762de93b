import { describe, expect, test } from 'vitest';
import { amountOf } from '../../money/amount.ts';
import type { FundingPageView } from '../../payments/funding/page-view.ts';
import { buyPage } from './buy-page.ts';
import { paymentRequest } from './payment-options.ts';
import { announcement, type BuyView } from './progress.ts';

const address = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed';
const token = '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359';
const at = new Date('2026-01-15T10:03:00Z');

function view(link: Partial<FundingPageView> = {}, more: Partial<BuyView> = {}): BuyView {
  return {
    link: {
      id: 'fnd_1',
      status: 'open',
      handle: 'PA-7K2M9QXA',
      name: 'Ada',
      chain: 'MATIC',
      amount: amountOf('USDC', 25_000_000n),
      createdAt: new Date('2026-01-15T10:00:00Z'),
      expiresAt: new Date('2026-01-15T10:20:00Z'),
      completion: undefined,
      card: null,
      address,
      arriving: [],
      ...link,
    },
    token,
    confirmations: 32,
    sellers: [{ label: 'Coinbase', href: '/buy/card/coinbase?token=t' }],
    context: { base: '', mode: 'live', assetUrl: (name) => `/assets/${name}` },
    ...more,
  };
}

const shown = (...args: Parameters<typeof view>) => buyPage(view(...args), '/buy/events?token=t').toString();

describe('the page of a funding link', () => {
  test('says who is funded, with how much, and both ways to pay', () => {
    const page = shown();
    for (const text of ['Ada', 'PA-7K2M9QXA', '25.00', 'USDC', 'Polygon', address, 'Pay by card', 'Only USDC']) {
      expect(page).toContain(text);
    }
    expect(page).toContain('Coinbase');
    expect(page).toContain('noindex');
  });

  test('offers the address alone where nobody takes cards', () => {
    expect(shown({}, { sellers: [] })).not.toContain('Pay by card');
    expect(shown({}, { sellers: [] })).toContain(address);
  });

  test('offers what is possible where the currency has no contract on Polygon, and says so', () => {
    const euros = amountOf('EURC', 25_000_000n);
    const page = shown({ amount: euros, chain: 'BASE' }, { sellers: [] });
    expect(page).toContain('EURC cannot be received on Polygon, so this link uses Base');
    expect(page).toContain('Only EURC, and only on Base');
    const nowhere = shown({ amount: euros }, { token: undefined, sellers: [] });
    expect(nowhere).toContain('cannot be received on Polygon at the moment');
    expect(nowhere).not.toContain(address);
  });

  test('shows no way to pay once a payment is seen', () => {
    const arriving = [{ txHash: '0x1' as const, amount: amountOf('USDC', 25_000_000n), confirmations: 11 }];
    for (const status of ['seen', 'confirmed'] as const) {
      const page = shown({ status, arriving });
      expect(page).not.toContain(address);
      expect(page).toContain('do not pay again');
    }
    expect(shown({ status: 'seen', arriving })).toContain('11 of 32 confirmations');
  });

  test('says what was paid, and what was asked for when that is something else', () => {
    const completion = {
      depositId: 'dep_1',
      transferId: 'trf_1',
      txHash: '0x2' as const,
      amount: amountOf('USDC', 30_500_000n),
      at,
    };
    const page = shown({ status: 'completed', completion });
    expect(page).toContain('30.50 USDC was added');
    expect(page).toContain('had asked for 25.00');
    expect(page).toContain('15 January 2026, 10:03 UTC');
    expect(page).not.toContain(address);
    expect(page).not.toContain('trf_1');
  });

  test('says what becomes of a payment that is too small', () => {
    expect(shown()).toContain(
      'a payment of less than 25 USDC is added to the balance, but does not complete this link',
    );
  });

  test('tells those who listen the same in one sentence', () => {
    expect(announcement(view())).toBe('Waiting for the payment.');
    expect(announcement(view({ card: { provider: 'x', state: 'failed', reason: 'no funds' } }))).toContain('no funds');
  });

  test('shows a stranger’s name as text', () => {
    expect(shown({ name: '<script>x</script>' })).not.toContain('<script>x');
  });
});

test('a wallet is asked for the token, not for the coin of the chain', () => {
  expect(paymentRequest({ chainId: 137, token, to: address, atomic: 25_000_000n })).toBe(
    `ethereum:${token}@137/transfer?address=${address}&uint256=25000000`,
  );
});
