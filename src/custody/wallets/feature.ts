import type { Feature } from '../../kernel/feature.ts';
import { type WalletParts, walletRoutes } from './wallet-routes.ts';

export const wallets: Feature<{ serving: WalletParts }> = {
  name: 'wallets',
  chapters: [{ name: 'Wallets', description: 'Where you are paid into from outside, and what has arrived.' }],
  routes: walletRoutes,
};
