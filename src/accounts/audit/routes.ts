import { z } from 'zod';
import type { ReadDatabase } from '../../kernel/db/database.ts';
import type { Route } from '../../kernel/http/define-route.ts';
import { listRoute } from '../../kernel/http/list-route.ts';
import { type LoggedEntry, readAccountLog } from './read-log.ts';
import { type AuditAction, auditActions } from './record.ts';

const actions = Object.keys(auditActions) as [AuditAction, ...AuditAction[]];

const meanings = Object.entries(auditActions)
  .map(([name, meaning]) => `\`${name}\`: ${meaning}`)
  .join(' ');

const entry = z.object({
  id: z.string(),
  action: z.string().meta({ description: `The action. ${meanings}` }),
  keyId: z.string().nullable().meta({ description: 'The API key of the request. Null if there was none.' }),
  byOperator: z.boolean().meta({ description: 'Whether the operator of this service made the change.' }),
  address: z.string().nullable().meta({ description: 'The IP address of the request. Null if there was none.' }),
  details: z.record(z.string(), z.unknown()).meta({ description: 'Further details, depending on the action.' }),
  at: z.iso.datetime(),
});

const example = {
  id: 'aud_01kp3v2m8rfk2s6y0e6v9q4w1x',
  action: 'tier.changed',
  keyId: 'key_01kp3v2m8rfk2s6y0e6v9q4w1x',
  byOperator: false,
  address: '203.0.113.7',
  details: { tier: 'pro' },
  at: '2026-01-15T10:00:00.000Z',
};

export function auditRoutes(readDb: ReadDatabase): Route[] {
  return [
    listRoute({
      id: 'listAudit',
      path: '/account/audit',
      tag: 'Accounts',
      summary: 'List the audit log of your account',
      description:
        'Sensitive changes and attempts, with the key and address they came from or the operator who made them. Entries are never changed or removed.',
      name: 'entries',
      item: entry,
      example,
      filters: {
        action: z
          .enum(actions, { error: 'must be the name of an action' })
          .optional()
          .meta({ description: 'Only entries of this action.' }),
      },
      rows: ({ accountId, action, limit, cursor }) => readAccountLog(readDb, { accountId, action, limit, cursor }),
      describe,
    }),
  ];
}

/** Hides the operator's name from the account owner. */
function describe({ id, action, keyId, operator, address, details, createdAt }: LoggedEntry): z.input<typeof entry> {
  return { id, action, keyId, byOperator: operator !== null, address, details, at: createdAt.toISOString() };
}
