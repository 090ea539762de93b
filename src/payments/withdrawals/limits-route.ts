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
  limit: z.number().nullable().meta({ description: 'What you may send outside within 24 hours; null is no limit.' }),
  used: z.number().meta({ description: 'What you have sent in the last 24 hours. What came back does not count.' }),
  left: z.number().nullable(),
  currency: z.literal('USDC'),
  moreAt: z.iso.datetime().nullable().meta({ description: 'When the oldest of it is a day old and counts no more.' }),
});

export function limitsRoute({ db, brakes }: LimitParts): Route {
  return defineRoute(
    {
      id: 'getWithdrawalLimits',
      method: 'GET',
      path: '/account/withdrawal-limits',
      tag: 'Withdrawals',
      summary: 'How much you may still send outside',
      description: `Withdrawals and payments to sellers (\`/nano/pay\`) of the last 24 hours count together. ${listed(currencies)} count as what they say; ${listed(coins)} as what the market paid for them when they were withdrawn.`,
      auth: 'key',
      scope: 'read',
      returns: {
        200: {
          description: 'The limit, and what is used and left of it',
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
