import type { Logger } from '../../kernel/log/logger.ts';

/** What has not happened for this long is news when it happens again. */
const rememberedMs = 10 * 60_000;

const happenedAt = new WeakMap<Logger, number>();

/** Of a payment that is refused nothing waits for the operator, where he would find it: so he is told, once for all in a row. */
export function tellOfFullHour(logger: Logger): void {
  const now = performance.now();
  const before = happenedAt.get(logger);
  happenedAt.set(logger, now);
  if (before !== undefined && now - before < rememberedMs) return;
  logger.error('sellers are not paid: more would leave within an hour than WITHDRAWALS_PER_HOUR allows');
}
