import { chainIds } from '../chains/chains.ts';
import type { FixedRows } from '../db/fixed-rows.ts';
import { assetCode, chainCode } from '../ledger/account-id.ts';
import { assets, decimalsOf } from '../money/asset.ts';

/** The assets and chains of this release, as the tables of the ledger hold them. */
export const catalogueRows: readonly FixedRows[] = [
  {
    table: 'ledger.assets',
    columns: ['code', 'symbol', 'decimals'],
    rows: assets.map((asset) => [assetCode(asset), asset, decimalsOf[asset]]),
  },
  { table: 'ledger.chains', columns: ['code', 'id'], rows: chainIds.map((chain) => [chainCode(chain), chain]) },
];
