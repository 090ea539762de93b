import type { Feature } from '../../kernel/feature.ts';
import { type WalletParts, walletRoutes } from './wallet-routes.ts';

export const wallets: Feature<{ serving: WalletParts }> = {
  name: 'wallets',
  chapters: [{ name: 'Wallets', description: 'Deposit addresses, and the deposits that arrived at them.' }],
  routes: walletRoutes,
};
