import { takeToday } from '../../kernel/daily-caps/take-today.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import { limitsPerNetwork } from '../../kernel/http/client-address.ts';
import type { Logger } from '../../kernel/log/logger.ts';

/** Messages of a kind per day (UTC); 0 is unlimited. */
export interface DailyLimits {
  readonly perNetwork: number;
  /** To one number or mailbox. */
  readonly perTarget: number;
  readonly perCountry: number;
  readonly inAll: number;
}

export interface Posted {
  /** What is counted together, such as `sms`. */
  readonly kind: string;
  /** The address that requested it; undefined when no stranger can have. */
  readonly ip: string | undefined;
  /** An id or a keyed hash is enough. Several targets are as many messages: all are sent or none. */
  readonly target: string | readonly string[];
  readonly country?: string | undefined;
}

/**
 * Counts a message in the caller's transaction, across all instances. Returns undefined when it may be sent, otherwise
 * the first exceeded limit, and then counts nothing. Call it late: other messages to the same country wait for the
 * commit.
 */
export async function countMessage(
  tx: Transaction,
  logger: Logger,
  limits: DailyLimits,
  { kind, ip, target, country }: Posted,
): Promise<'network' | 'target' | 'country' | 'all' | undefined> {
  const targets = [target].flat().toSorted();
  const places = targets.length;
  // Always in this order, to avoid deadlocks.
  const counted = [
    ...(ip === undefined ? [] : limitsPerNetwork(ip, limits.perNetwork)).map(
      ({ network, limit }) => ({ what: 'network', of: network, limit, places }) as const,
    ),
    ...targets.map((of) => ({ what: 'target', of, limit: limits.perTarget, places: 1 }) as const),
    { what: 'country', of: country, limit: limits.perCountry, places },
    { what: 'all', of: '', limit: limits.inAll, places },
  ] as const;
  await tx.query('SAVEPOINT before_counting');
  for (const { what, of, limit, places: taking } of counted) {
    if (of === undefined || limit === 0) continue;
    const count = await takeToday(tx, { scope: `${kind}:${what}:${of}`, limit, places: taking });
    if (count === undefined) {
      await tx.query('ROLLBACK TO SAVEPOINT before_counting');
      return what;
    }
    if (count === limit && what !== 'network' && what !== 'target') {
      logger.warn({ kind, limit, ...(country !== undefined && what === 'country' && { country }) }, lastOne(what));
    }
  }
  await tx.query('RELEASE SAVEPOINT before_counting');
  return undefined;
}

function lastOne(what: 'country' | 'all'): string {
  const where = what === 'all' ? '' : ' to this country';
  return `the daily limit of these messages${where} is reached: check who requests so many, or raise the limit`;
}
