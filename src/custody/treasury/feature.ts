import { z } from 'zod';
import type { FeeCeiling } from '../../chains/gas-fee-ceiling.ts';
import type { Networks } from '../../chains/network.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Feature } from '../../kernel/feature.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import { defineSettings } from '../../kernel/settings.ts';
import type { ChainId } from '../../money/catalogue.ts';
import { addTreasuryCommands, type TreasuryParts } from './commands.ts';
import { composeCeilings, readGasPrices, unsafeCeilings, usualPrices } from './gas-fee-ceilings.ts';
import { gasMetrics } from './gas-metrics.ts';
import { type HouseMoveParts, houseMoveHandler, houseMoveSaga } from './house-move.ts';
import { beginMovesSoon, moveRetiredSchedule } from './move-retired.ts';
import { readUntraded, type UntradedPrices, untradedNames, untradedRows, untradedVariables } from './untraded-coins.ts';
import { watchGasSchedule } from './watch-gas.ts';

interface TreasurySettings {
  /** The most that a transaction offers for gas, on each chain. */
  readonly feeCeilings: ReadonlyMap<ChainId, FeeCeiling>;
  /** The price of each native coin that the market does not trade, for charging gas. */
  readonly untradedInUsdc: UntradedPrices;
}

export const treasury: Feature<{
  settings: TreasurySettings;
  metrics: { readonly db: Database; readonly networks: Networks };
  working: HouseMoveParts & { readonly logger: Logger };
  commands: TreasuryParts;
}> = {
  name: 'treasury',
  settings: defineSettings({
    variables: {
      FEE_CEILING_GWEI: z.string().transform(readGasPrices).optional(),
      ...untradedVariables,
    },
    docs: {
      room: 'Custody',
      rows: {
        FEE_CEILING_GWEI: {
          usual: `\`${usualPrices}\``,
          does: 'The most that a transaction offers for a unit of gas, whatever a node says. While a chain costs more, nothing is sent there.',
          change: 'When a chain stays more expensive than that. Live mode refuses more than ten times the default.',
        },
        ...untradedRows,
      },
    },
    harmless: ['FEE_CEILING_GWEI', ...untradedNames],
    read: (env) => ({
      feeCeilings: composeCeilings(env.FEE_CEILING_GWEI),
      untradedInUsdc: readUntraded(env),
    }),
    refuseLive: (env) => unsafeCeilings(env.FEE_CEILING_GWEI),
  }),
  commands: (program, { withMoney, say }) => addTreasuryCommands(program, withMoney, say),
  sagas: [
    {
      saga: houseMoveSaga,
      handler: ({ db, ledger, networks, provider, checkpoint }) =>
        houseMoveHandler({ db, ledger, networks, provider, checkpoint }),
    },
  ],
  metrics: ({ db, networks }) => [gasMetrics(db, networks)],
  onStart: ({ db }) => beginMovesSoon(db),
  schedules: ({ db, networks, logger, checkpoint }) => [
    moveRetiredSchedule({ db, networks, logger, checkpoint }),
    watchGasSchedule({ db, networks, logger }),
  ],
};
