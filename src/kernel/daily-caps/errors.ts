import { defineErrors } from '../http/problem.ts';

export const dailyCapErrors = defineErrors({
  daily_cap_reached: {
    status: 429,
    title: 'Daily cap reached',
    detail:
      'The account has reached its cap for today (UTC). Wait for the number of seconds in Retry-After. Enterprise accounts have no such cap.',
  },
});
