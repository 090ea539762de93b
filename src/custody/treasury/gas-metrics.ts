import type { Networks } from '../../chains/network.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { defineMetrics, type MetricSource } from '../../kernel/metrics/metric.ts';
import { amountOf, toDecimalText } from '../../money/amount.ts';
import { chains } from '../../money/catalogue.ts';
import { listHouseWallets } from '../wallets/house-wallets.ts';
import { gasAlarmLevel } from './gas-level.ts';

/** The chains are asked this often, no matter how often Prometheus scrapes. */
const everyMs = 5 * 60_000;

export function gasMetrics(db: Queryable, networks: Networks): MetricSource {
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
