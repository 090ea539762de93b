import type { Logger } from '../log/logger.ts';
import { setNewest } from '../set-newest.ts';

/** The same trouble is logged again after this long without it. */
const rememberedMs = 10 * 60_000;

const mostRemembered = 1_000;

/** Logs each trouble once, however many sagas wait for the same thing and however often they retry. */
export interface SagaTroubles {
  tell(where: { readonly saga: string; readonly id: string; readonly lane: string }, trouble: string): void;
}

export function createSagaTroubles(logger: Logger): SagaTroubles {
  const metAt = new Map<string, number>();
  return {
    tell({ saga, id, lane }, trouble) {
      const key = `${saga} ${lane} ${trouble}`;
      const now = performance.now();
      const before = metAt.get(key);
      setNewest(metAt, key, now, mostRemembered);
      if (before !== undefined && now - before < rememberedMs) return;
      logger.error({ saga, id, lane, trouble }, `a ${saga.replaceAll('_', ' ')} waits`);
    },
  };
}
