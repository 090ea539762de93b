import { z } from 'zod';
import type { Brakes } from '../../custody/limits/brakes.ts';
import { findRoom, readDailyUse } from '../../custody/limits/daily-limit.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import { amountOf, toJsonNumber } from '../../money/amount.ts';
import { coins, currencies } from '../../money/catalogue.ts';
import { listed } from '../../money/in-words.ts';

interface LimitParts {
  readonly db: Queryable;
  readonly brakes: Brakes;
}

const limits = z.object({
  limit: z
    .number()
    .nullable()
    .meta({ description: 'The limit on outgoing payments within 24 hours. Null if there is none.' }),
  used: z.number().meta({ description: 'The amount sent in the last 24 hours. Returned payments do not count.' }),
  left: z.number().nullable(),
  currency: z.literal('USDC'),
  moreAt: z.iso
    .datetime()
    .nullable()
    .meta({ description: 'When the oldest counted payment is 24 hours old and stops counting.' }),
});

export function limitsRoute({ db, brakes }: LimitParts): Route {
  return defineRoute(
    {
      id: 'getWithdrawalLimits',
      method: 'GET',
      path: '/account/withdrawal-limits',
      tag: 'Withdrawals',
      summary: 'Retrieve your withdrawal limits',
      description: `Withdrawals and payments to sellers (\`/nano/pay\`) of the last 24 hours count together. ${listed(currencies)} count at face value; ${listed(coins)} at their market value when they were withdrawn.`,
      auth: 'key',
      scope: 'read',
      returns: {
        200: {
          description: 'The limit, and how much of it is used and left',
          schema: limits,
          example: {
            limit: 25_000,
            used: 1_250.5,
            left: 23_749.5,
            currency: 'USDC',
            moreAt: '2026-01-16T10:00:00.000Z',
          },
        },
      },
    },
    async ({ caller }) => {
      const { limit, used, left } = await readDailyUse(db, brakes, caller.accountId);
      const more = await findRoom(db, caller.accountId, 1n);
      return ok({
        limit: limit === undefined ? null : toNumber(limit),
        used: toNumber(used),
        left: left === undefined ? null : toNumber(left),
        currency: 'USDC',
        moreAt: more?.toISOString() ?? null,
      });
    },
  );
}

function toNumber(value: bigint): number {
  return toJsonNumber(amountOf('USDC', value));
}
