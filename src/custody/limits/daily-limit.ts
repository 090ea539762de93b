import { onlyRow, type Queryable } from '../../kernel/db/database.ts';
import type { Caller } from '../../kernel/http/define-route.ts';
import { amountOf, toDecimalText, toJsonNumber } from '../../money/amount.ts';
import type { Brakes } from './brakes.ts';
import { limitErrors } from './errors.ts';
import { sentWithinDay } from './sent-outside.ts';

/** What an account has sent outside within 24 hours, in millionths of a USDC. */
export interface DailyUse {
  /** Undefined means no limit. */
  readonly limit: bigint | undefined;
  readonly used: bigint;
  readonly left: bigint | undefined;
}

export async function readDailyUse(db: Queryable, { perDay }: Brakes, accountId: bigint): Promise<DailyUse> {
  const { tier, used } = onlyRow(
    await db.query<{ tier: Caller['tier']; used: bigint }>(
      `SELECT tier, (SELECT coalesce(sum(value), 0) FROM (${sentWithinDay}) sent) AS used FROM accounts WHERE id = $1`,
      [accountId],
    ),
  );
  const limit = perDay[tier];
  const left = limit === undefined ? undefined : limit - used;
  return { limit, used: used, left: left === undefined || left > 0n ? left : 0n };
}

/**
 * When the limit has room for `missing` more, as earlier payments become older than a day. Undefined: not within a day.
 */
export async function findRoom(db: Queryable, accountId: bigint, missing: bigint): Promise<Date | undefined> {
  const { rows } = await db.query<{ at: Date | null }>(
    `SELECT min(created_at) + interval '24 hours' AS at
       FROM (SELECT created_at, sum(value) OVER (ORDER BY created_at) AS freed FROM (${sentWithinDay}) sent) aging
      WHERE freed >= $2`,
    [accountId, missing],
  );
  return rows[0]?.at ?? undefined;
}

/** Part of the commit that sends the money, under the account's lock, so that concurrent payments count each other. */
export async function refuseBeyondDay(
  tx: Queryable,
  brakes: Brakes,
  { accountId, value }: { readonly accountId: bigint; readonly value: bigint },
): Promise<void> {
  const { limit, used, left } = await readDailyUse(tx, brakes, accountId);
  if (limit === undefined || left === undefined || value <= left) return;
  const room = value > limit ? undefined : await findRoom(tx, accountId, used + value - limit);
  const when =
    room === undefined
      ? 'It exceeds the limit of a whole day: send less.'
      : `Try again at ${room.toISOString()}, when earlier payments no longer count.`;
  throw limitErrors.daily_limit_reached(
    `This payment is worth ${text(value)} USDC, but only ${text(left)} of the 24-hour limit of ${text(limit)} USDC are left. ${when}`,
    {
      members: {
        limit: number(limit),
        used: number(used),
        left: number(left),
        currency: 'USDC',
        roomAt: room?.toISOString() ?? null,
      },
    },
  );
}

function text(value: bigint): string {
  return toDecimalText(amountOf('USDC', value));
}

function number(value: bigint): number {
  return toJsonNumber(amountOf('USDC', value));
}
