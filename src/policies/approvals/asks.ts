import { z } from 'zod';
import { visibleText } from '../../accounts/fields.ts';
import type { Success } from '../../kernel/http/define-route.ts';

/** The answer of every payment that its owner has to approve first. */
export const askedOwner: Success = {
  description: 'The owner has to approve the payment on the website first. No money was moved or held',
  schema: z.object({
    status: z.literal('approval_required'),
    approvalId: z.string().meta({ description: 'For GET /approvals/{id}, which can wait for the decision.' }),
    url: z.string().meta({ description: 'The page where the owner decides. Send it to them; they are also emailed.' }),
    expiresAt: z.iso.datetime(),
    summary: z.string().meta({ description: 'The payment in words.' }),
  }),
  example: {
    status: 'approval_required',
    approvalId: 'apr_01kp3v2m8rfk2s6y0e6v9q4w1x',
    url: 'https://pay.example.com/approve/apr_01kp3v2m8rfk2s6y0e6v9q4w1x',
    expiresAt: '2026-01-15T10:10:00.000Z',
    summary: 'Transfer 8 USDC to Grace Hopper (PA-7K2M9QXA)',
  },
};

/** A member of the body of every payment. */
export const note = visibleText(200).optional().meta({
  description:
    'Why you ask for this payment, in at most 200 characters. Shown to the owner if they have to approve it.',
});
