import { z } from 'zod';
import type { FeeCeiling } from '../../chains/gas-fee-ceiling.ts';
import type { Networks } from '../../chains/network.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Feature } from '../../kernel/feature.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import { defineSettings, wholeNumber } from '../../kernel/settings.ts';
import type { ChainId } from '../../money/catalogue.ts';
import { addTreasuryCommands, type TreasuryParts } from './commands.ts';
import { composeCeilings, readGasPrices, unsafeCeilings, usualPrices } from './gas-fee-ceilings.ts';
import { gasMetrics } from './gas-metrics.ts';
import { type HouseMoveParts, houseMoveHandler, houseMoveSaga } from './house-move.ts';
import { beginMovesSoon, moveRetiredSchedule } from './move-retired.ts';
import {
  readUntraded,
  type UntradedPrices,
  untradedNames,
  untradedReadme,
  untradedVariables,
} from './untraded-coins.ts';
import { watchGasSchedule } from './watch-gas.ts';

interface TreasurySettings {
  /** The most that our transactions offer, per chain. */
  readonly feeCeilings: ReadonlyMap<ChainId, FeeCeiling>;
  /** The prices of untraded native coins for charging gas. */
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
      TIP_CEILING_GWEI: z.string().transform(readGasPrices).optional(),
      GAS_LIMIT_CEILING: wholeNumber(1_000_000, 30_000_000, 10_000_000),
      ...untradedVariables,
    },
    readme: [
      `| \`FEE_CEILING_GWEI\` | \`${usualPrices('fee')}\` | the most that is offered for a unit of gas, whatever a node says; while a chain asks for more, nothing is sent there. Live refuses more than ten times the default |`,
      `| \`TIP_CEILING_GWEI\` | \`${usualPrices('tip')}\` | the most of it that goes to whoever mines the block; a higher wish is cut to it |`,
      '| `GAS_LIMIT_CEILING` | `10000000` | the most gas that one transaction may be estimated at; 1 to 30 million |',
      ...untradedReadme,
    ],
    harmless: ['FEE_CEILING_GWEI', 'TIP_CEILING_GWEI', 'GAS_LIMIT_CEILING', ...untradedNames],
    read: (env) => ({
      feeCeilings: composeCeilings({
        fees: env.FEE_CEILING_GWEI,
        tips: env.TIP_CEILING_GWEI,
        gasLimit: env.GAS_LIMIT_CEILING,
      }),
      untradedInUsdc: readUntraded(env),
    }),
    refuseLive: (env) => unsafeCeilings({ fees: env.FEE_CEILING_GWEI, tips: env.TIP_CEILING_GWEI }),
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
