import { defineErrors } from '../http/problem.ts';

export const dailyCapErrors = defineErrors({
  daily_cap_reached: {
    status: 429,
    title: 'Daily cap reached',
    detail:
      'The account has reached its daily limit for this operation; days are in UTC. Wait the number of seconds in Retry-After, then try again. Enterprise accounts have no such limit.',
  },
});
