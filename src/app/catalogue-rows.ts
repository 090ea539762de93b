import type { FixedRows } from '../kernel/db/fixed-rows.ts';
import { assetIds, assets, chainIds, chains } from '../money/catalogue.ts';

/** The assets and chains of this release, as rows of the ledger's tables. */
export const catalogueRows: readonly FixedRows[] = [
  {
    table: 'ledger.assets',
    columns: ['code', 'symbol', 'decimals'],
    rows: assetIds.map((symbol) => [assets[symbol].code, symbol, assets[symbol].decimals]),
  },
  { table: 'ledger.chains', columns: ['code', 'id'], rows: chainIds.map((id) => [chains[id].code, id]) },
];
