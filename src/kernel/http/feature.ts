import { forgetCountsSchedule } from '../daily-caps/forget-counts.ts';
import type { Database } from '../db/database.ts';
import type { Feature } from '../feature.ts';
import { defineSettings, wholeNumber } from '../settings.ts';
import { type LongAnswerLimits, usualLongAnswerLimits } from './long-answers.ts';

interface ServiceSettings {
  readonly longAnswers: LongAnswerLimits;
}

const { atOnce, perAccount, patienceMs } = usualLongAnswerLimits;

/** What the interface is about itself. Its one operation describes all others, so it is added when they are all there. */
export const service: Feature<{ settings: ServiceSettings; working: { readonly db: Database } }> = {
  name: 'service',
  chapters: [{ name: 'Service', description: 'The description of this API.' }],
  settings: defineSettings({
    // None of them can be switched off: whatever is allowed here is bounded.
    variables: {
      LONG_ANSWERS_AT_ONCE: wholeNumber(1, 100, atOnce),
      LONG_ANSWERS_PER_ACCOUNT: wholeNumber(1, 100, perAccount),
      LONG_ANSWER_PATIENCE_SECONDS: wholeNumber(1, 600, patienceMs / 1_000),
    },
    readme: [
      '| `LONG_ANSWERS_AT_ONCE`, `LONG_ANSWERS_PER_ACCOUNT` | `10`, `2` | statements that a process sends at once, in all and to one account; 1 to 100. Live refuses one account as many as there are |',
      '| `LONG_ANSWER_PATIENCE_SECONDS` | `30` | how long somebody who asked for a statement may stop reading it; 1 to 600 |',
    ],
    harmless: ['LONG_ANSWERS_AT_ONCE', 'LONG_ANSWERS_PER_ACCOUNT', 'LONG_ANSWER_PATIENCE_SECONDS'],
    read: (env) => ({
      longAnswers: {
        atOnce: env.LONG_ANSWERS_AT_ONCE,
        perAccount: env.LONG_ANSWERS_PER_ACCOUNT,
        patienceMs: env.LONG_ANSWER_PATIENCE_SECONDS * 1_000,
      },
    }),
    refuseLive: (env) =>
      env.LONG_ANSWERS_PER_ACCOUNT < env.LONG_ANSWERS_AT_ONCE
        ? []
        : ['LONG_ANSWERS_PER_ACCOUNT is unsafe: one account could keep all others from their statements'],
  }),
  schedules: ({ db }) => [forgetCountsSchedule(db)],
};
