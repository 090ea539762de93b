import { z } from 'zod';
import type { Networks } from '../../chains/network.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { defineJob, handleJob } from '../../kernel/jobs/define-job.ts';
import type { Schedule } from '../../kernel/jobs/worker.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import { toDecimalText } from '../../money/amount.ts';
import { treasuryOverview } from './overview.ts';

const watchGas = defineJob({ name: 'watch_gas', payload: z.unknown(), maxAttempts: 1 });

/** Logs house wallets that will need native coin, while some is left. */
export function watchGasSchedule(parts: {
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
