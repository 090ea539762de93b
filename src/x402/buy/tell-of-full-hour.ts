import type { Logger } from '../../kernel/log/logger.ts';

/** Logged again only after this long without a refusal. */
const rememberedMs = 10 * 60_000;

const happenedAt = new WeakMap<Logger, number>();

/** A refused payment leaves nothing in the operator's list, so the log reports the first refusal of a series. */
export function tellOfFullHour(logger: Logger): void {
  const now = performance.now();
  const before = happenedAt.get(logger);
  happenedAt.set(logger, now);
  if (before !== undefined && now - before < rememberedMs) return;
  logger.error('payments to sellers are refused: the hourly limit WITHDRAWALS_PER_HOUR is reached');
}
