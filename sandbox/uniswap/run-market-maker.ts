import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../src/kernel/log/logger.ts';
import type { LocalChain } from '../chains/local-chain.ts';
import { bringBackPrices } from './bring-back-prices.ts';

const lookEveryMs = 2_000;

export interface RunningMarketMaker {
  stop(): Promise<void>;
}

/** Checks the pools regularly. It is stateless and runs in the process that runs the chains. */
export function runMarketMaker(chain: LocalChain, logger: Logger): RunningMarketMaker {
  const stopping = new AbortController();
  const { signal } = stopping;

  async function run(): Promise<void> {
    while (!signal.aborted) {
      try {
        await bringBackPrices(chain);
      } catch (err) {
        if (!signal.aborted) logger.warn({ err }, 'the market maker could not correct prices');
      }
      await sleep(lookEveryMs, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  const running = run();
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
