import { defineErrors } from '../http/problem.ts';

export const dailyCapErrors = defineErrors({
  daily_cap_reached: {
    status: 429,
    title: 'Daily cap reached',
    detail:
      'The account has made as many of these today (UTC) as it may. Retry-After says how many seconds to wait. An enterprise account has no such cap.',
  },
});
