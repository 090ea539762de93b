import type { Feature } from '../../../kernel/feature.ts';

export const keys: Feature = {
  name: 'keys',
  sealed: [{ purpose: 'wallet-seed', columns: [{ table: 'wallet_seeds', key: ['id'], column: 'sealed' }] }],
};
