import { describe, expect, test } from 'vitest';
import { createNetworks } from '../../chains/network.ts';
import type { ChainId } from '../../money/catalogue.ts';
import { chooseChain } from './choose-chain.ts';
import { fundingRoutes } from './routes.ts';

/** Live chains with Circle's contracts; these tests send no requests to them. */
function reach(ids: readonly ChainId[], eurcOnPolygon?: `0x${string}`) {
  return createNetworks(
    new Map(
      ids.map((id) => [
        id,
        {
          urls: ['http://127.0.0.1:9'],
          confirmations: 1,
          pollMs: 1_000,
          ...(id === 'MATIC' && eurcOnPolygon && { tokens: [{ asset: 'EURC' as const, address: eurcOnPolygon }] }),
        },
      ]),
    ),
  );
}

describe('a link is paid', () => {
  test('on the home chain', () => {
    expect(chooseChain(reach(['ETH', 'MATIC', 'BASE']), 'USDC')).toBe('MATIC');
    expect(chooseChain(reach(['MATIC', 'BASE'], `0x${'1'.repeat(40)}`), 'EURC')).toBe('MATIC');
  });

  test('on another chain if the home chain has no contract for the currency', () => {
    expect(chooseChain(reach(['MATIC', 'ETH', 'BASE', 'ARB']), 'EURC')).toBe('BASE');
    expect(chooseChain(reach(['MATIC', 'ETH', 'ARB']), 'EURC')).toBe('ETH');
  });

  test('on no chain without a contract, and the request is refused', async () => {
    const networks = reach(['MATIC', 'ARB']);
    expect(chooseChain(networks, 'EURC')).toBeUndefined();
    const [create] = fundingRoutes({ networks, maximum: 100n, onRamps: [] } as never);
    await expect(
      create?.handle({ caller: { accountId: 1n }, body: { amount: 5, currency: 'EURC' } }),
    ).rejects.toMatchObject({ code: 'currency_not_receivable', status: 400 });
  });
});
