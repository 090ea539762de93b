import { z } from 'zod';
import type { Queryable } from '../src/kernel/db/database.ts';
import type { Route } from '../src/kernel/http/define-route.ts';
import { listRoute } from '../src/kernel/http/list-route.ts';
import type { Secrets } from '../src/kernel/secrets/secrets.ts';

const message = z.object({
  id: z.string(),
  channel: z.enum(['email', 'sms']),
  to: z.string(),
  subject: z.string(),
  text: z.string(),
  createdAt: z.iso.datetime(),
});

interface MessageRow {
  readonly id: string;
  readonly channel: 'email' | 'sms';
  readonly recipient: string;
  readonly subject: string;
  readonly sealed: Buffer;
  readonly createdAt: Date;
}

export function messagesRoute({ db, secrets }: { readonly db: Queryable; readonly secrets: Secrets }): Route {
  return listRoute({
    id: 'listSandboxMessages',
    path: '/sandbox/messages',
    tag: 'Sandbox',
    summary: 'List emails and text messages for your account',
    description:
      'The sandbox sends no emails or text messages; it shows them here. Password reset tokens always appear, and verification codes when SANDBOX_AUTO_VERIFY=false. Messages to an email that you have not verified appear only on the console.',
    name: 'messages',
    item: message,
    example: {
      id: 'msg_01kp3v2m8rfk2s6y0e6v9q4w1x',
      channel: 'sms',
      to: '+14155550123',
      subject: 'Your Paywright code',
      text: '493021 is your Paywright code.',
      createdAt: '2026-01-15T10:00:00.000Z',
    },
    rows: async ({ accountId, cursor, limit }) => {
      const { rows } = await db.query<MessageRow>(
        `SELECT id, channel, recipient, subject, sealed, created_at FROM messages
          WHERE account_id = $1 AND sealed IS NOT NULL AND ($2::text IS NULL OR id < $2)
          ORDER BY id DESC LIMIT $3`,
        [accountId, cursor ?? null, limit + 1],
      );
      return rows;
    },
    describe: (row) => ({
      id: row.id,
      channel: row.channel,
      to: row.recipient,
      subject: row.subject,
      text: secrets.open('messages', row.sealed),
      createdAt: row.createdAt.toISOString(),
    }),
  });
}
