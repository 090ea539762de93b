import { z } from 'zod';
import type { Feature } from '../../../src/kernel/feature.ts';
import { defineRoute, ok } from '../../../src/kernel/http/define-route.ts';
import { defineJob, enqueue, handleJob } from '../../../src/kernel/jobs/define-job.ts';
import { defineSettings } from '../../../src/kernel/settings.ts';
import { houseAccount, userAccount } from '../../../src/ledger/account-id.ts';
import type { RunOnce } from '../../../src/ledger/idempotency.ts';
import type { Ledger } from '../../../src/ledger/ledger.ts';
import { amountOf } from '../../../src/money/amount.ts';

interface PostcardSettings {
  readonly greeting: string;
}

const printPostcard = defineJob({
  name: 'print_postcard',
  payload: z.object({ accountId: z.string(), text: z.string() }),
  maxAttempts: 3,
});

export const emptyLetterBox = defineJob({ name: 'empty_letter_box', payload: z.unknown(), maxAttempts: 1 });

/** What its loop and its schedule have done in this process. */
export const postOffice = { open: false, timesEmptied: 0 };

/** A made-up feature that has some of everything. Whoever sends a postcard is given a cent. */
export const postcards: Feature<{
  settings: PostcardSettings;
  serving: { readonly once: RunOnce };
  working: { readonly ledger: Ledger };
}> = {
  name: 'postcards',
  chapters: [{ name: 'Postcards', description: 'Send somebody a greeting.' }],
  settings: defineSettings({
    variables: { POSTCARD_GREETING: z.string().max(20, 'must be short').default('Hello') },
    harmless: ['POSTCARD_GREETING'],
    read: ({ POSTCARD_GREETING }) => ({ greeting: POSTCARD_GREETING }),
  }),
  events: [{ name: 'postcard.printed', describe: ({ details }) => ({ postcard: details }) }],
  commands(program, { withDatabase, say }) {
    program.command('postcards').action(() =>
      withDatabase(async (db, { greeting }) => {
        const { rows } = await db.query("SELECT FROM ledger.postings WHERE type = 'postcard'");
        say(`Postcards that say ${greeting}: ${rows.length}`);
      }),
    );
  },
  routes: ({ once }, { greeting }) => [
    defineRoute(
      {
        id: 'sendPostcard',
        method: 'POST',
        path: '/postcards',
        tag: 'Postcards',
        summary: 'Send a postcard',
        auth: 'key',
        scope: 'pay',
        body: z.strictObject({ to: z.string() }),
        idempotent: true,
        returns: {
          200: {
            description: 'It is printed',
            schema: z.object({ text: z.string() }),
            example: { text: 'Hello, Ada' },
          },
        },
      },
      async ({ caller, body, idempotency }) =>
        once({ caller, idempotency }, async (tx) => {
          const text = `${greeting}, ${body.to}`;
          await enqueue(tx, printPostcard, { accountId: String(caller.accountId), text });
          return ok({ text });
        }),
    ),
  ],
  jobs: ({ ledger }) => [
    handleJob(printPostcard, async ({ accountId, text }) => {
      const recipientId = BigInt(accountId);
      await ledger.post({
        type: 'postcard',
        amount: amountOf('USDC', 10_000n),
        entries: [
          { account: houseAccount('custody', 'USDC', 'MATIC'), atomic: -10_000n },
          { account: userAccount(recipientId, 'USDC', 'MATIC'), atomic: 10_000n },
        ],
        recipientId,
        recipientEvent: 'postcard.printed',
        details: { text },
      });
    }),
  ],
  schedules: () => [
    {
      at: '0 18 * * *',
      handler: handleJob(emptyLetterBox, async () => {
        postOffice.timesEmptied += 1;
      }),
    },
  ],
  loops() {
    postOffice.open = true;
    return [
      {
        async stop() {
          postOffice.open = false;
        },
      },
    ];
  },
};
