import type { Feature } from '../feature.ts';
import { walletRoutes } from './wallet-routes.ts';

export const wallets: Feature = {
  name: 'wallets',
  chapters: [{ name: 'Wallets', description: 'Where you are paid into from outside, and what has arrived.' }],
  routes: ({ db, once, provider, networks }) => walletRoutes({ db, once, provider, networks }),
};
