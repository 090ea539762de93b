import { defineErrors } from '../../kernel/http/problem.ts';

export const decisionErrors = defineErrors({
  decision_not_found: {
    status: 404,
    title: 'Decision not found',
    detail: 'No decision of the calling key, or of a key below it, has this id.',
  },
  decision_not_sealed: {
    status: 409,
    title: 'Decision not sealed yet',
    detail:
      'No signed root covers this decision yet. One is signed every hour. Wait the number of seconds in Retry-After, then try again.',
  },
});
