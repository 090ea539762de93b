import { z } from 'zod';
import type { FeeCeiling } from '../../chains/gas-fee-ceiling.ts';
import type { Networks } from '../../chains/network.ts';
import type { Database, Queryable } from '../../kernel/db/database.ts';
import type { Feature } from '../../kernel/feature.ts';
import { defineJob, handleJob } from '../../kernel/jobs/define-job.ts';
import type { Schedule } from '../../kernel/jobs/worker.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import { defineMetrics, type MetricSource } from '../../kernel/metrics/metric.ts';
import { defineSettings } from '../../kernel/settings.ts';
import { amountOf, toDecimalText } from '../../money/amount.ts';
import { type ChainId, chains } from '../../money/catalogue.ts';
import { listHouseWallets } from '../wallets/house-wallets.ts';
import { addTreasuryCommands, type TreasuryParts } from './commands.ts';
import { readUntraded, type UntradedPrices, untradedNames, untradedRows, untradedVariables } from './gas-costs.ts';
import { composeCeilings, readGasPrices, unsafeCeilings, usualPrices } from './gas-fee-ceilings.ts';
import { type HouseMoveParts, houseMoveHandler, houseMoveSaga } from './house-move.ts';
import { beginMovesSoon, moveRetiredSchedule } from './move-retired.ts';
import { gasAlarmLevel, treasuryOverview } from './overview.ts';

const watchGas = defineJob({ name: 'watch_gas', payload: z.unknown(), maxAttempts: 1 });

/** Logs house wallets that will need native coin, while some is left. */
function watchGasSchedule(parts: {
  readonly db: Queryable;
  readonly networks: Networks;
  readonly logger: Logger;
}): Schedule {
  return {
    at: '*/10 * * * *',
    handler: handleJob(watchGas, async () => {
      for (const { wallet, content } of await treasuryOverview(parts.db, parts.networks)) {
        if (!content?.gasIsLow) continue;
        const { purpose, chain, address } = wallet;
        const { gas } = content;
        parts.logger.error({ purpose, chain, address }, `gas is low: ${toDecimalText(gas)} ${gas.asset} left`);
      }
    }),
  };
}

/** The chains are asked this often, no matter how often Prometheus scrapes. */
const everyMs = 5 * 60_000;

function gasMetrics(db: Queryable, networks: Networks): MetricSource {
  return defineMetrics({
    name: 'gas',
    metrics: {
      paywright_gas_coins: {
        type: 'gauge',
        help: 'Native coin in a house wallet, in whole coins. Absent while its chain does not answer.',
      },
      paywright_gas_alarm_coins: {
        type: 'gauge',
        help: 'Below this, a house wallet of the chain soon needs native coin.',
      },
    },
    everyMs,
    async read() {
      const wallets = (await listHouseWallets(db)).filter(({ retired, chain }) => !retired && networks.has(chain));
      const balances = await Promise.allSettled(
        wallets.map(async ({ chain, address }) => networks.get(chain)?.client.getBalance({ address })),
      );
      const inCoins = (chain: keyof typeof chains, atomic: bigint) =>
        Number(toDecimalText(amountOf(chains[chain].native, atomic)));
      return {
        paywright_gas_coins: wallets.flatMap(({ chain, purpose }, index) => {
          const found = balances[index];
          if (found?.status !== 'fulfilled' || found.value === undefined) return [];
          return [{ labels: { chain, purpose }, value: inCoins(chain, found.value) }];
        }),
        paywright_gas_alarm_coins: [...networks.keys()].map((chain) => ({
          labels: { chain },
          value: inCoins(chain, gasAlarmLevel(chain)),
        })),
      };
    },
  });
}

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
