import { z } from 'zod';
import { accountClosing } from '../accounts/closing/on-account-closing.ts';
import type { Database } from '../kernel/db/database.ts';
import type { Feature } from '../kernel/feature.ts';
import { defineSettings } from '../kernel/settings.ts';
import { expireHandler, forgetApprovalsSchedule } from './approvals/expire.ts';
import { type ApprovalParts, approvalRoutes } from './approvals/routes.ts';
import { forgetPolicies } from './forget-policies.ts';
import type { EuroRate } from './rates.ts';
import { type PolicyParts, policyRoutes } from './routes.ts';

export interface PolicySettings {
  readonly euro: EuroRate;
}

/** In live mode a rate that nobody set would let an agent choose the cheaper currency. */
const sandboxRate = 1_080_000n;

interface PolicyServing extends PolicyParts, ApprovalParts {}

export const policies: Feature<{
  settings: PolicySettings;
  serving: PolicyServing;
  working: { readonly db: Database };
}> = {
  name: 'policies',
  chapters: [
    {
      name: 'Policies',
      description:
        'Limit what a key and the keys below it may spend: budgets that hold under any concurrency, and rules.',
    },
    {
      name: 'Approvals',
      description:
        'When a rule or a budget asks the owner, the payment answers 202 with an approval. The owner decides on the website, and approving executes the payment in the same commit. No key can approve.',
    },
  ],
  events: [
    { name: 'policy.changed' },
    { name: 'budget.threshold' },
    ...['requested', 'executed', 'denied', 'expired', 'cancelled', 'failed'].map((end) => ({
      name: `approval.${end}`,
    })),
  ],
  sealed: [
    {
      purpose: 'approvals',
      columns: ['sealed', 'sealed_request'].map((column) => ({ table: 'approvals', key: ['id'], column })),
    },
  ],
  settings: defineSettings({
    variables: {
      EURC_RATE: z
        .string()
        .regex(/^(?!0+(?:\.0+)?$)\d{1,4}(?:\.\d{1,6})?$/, 'must be a decimal number such as 1.08')
        .transform(toAtomic)
        .optional(),
    },
    harmless: ['EURC_RATE'],
    docs: {
      room: 'Policies',
      rows: {
        EURC_RATE: {
          usual: '`1.08` in the sandbox, none in live mode',
          does: 'How many USDC one EURC is worth, for budgets that count in the other of the two. Without it such payments are refused with `rate_unavailable`.',
          change: 'When the exchange rate has moved, or to let budgets count both currencies in live mode.',
        },
      },
    },
    read: ({ EURC_RATE }, mode) => {
      const rate = EURC_RATE ?? (mode === 'sandbox' ? sandboxRate : undefined);
      return { euro: { usdcPerEurc: () => rate } };
    },
  }),
  hooks: [accountClosing.on(forgetPolicies)],
  routes: (parts) => [...policyRoutes(parts), ...approvalRoutes(parts)],
  jobs: ({ db }) => [expireHandler(db)],
  schedules: ({ db }) => [forgetApprovalsSchedule(db)],
};

function toAtomic(text: string): bigint {
  const [whole = '0', fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(6, '0'));
}
