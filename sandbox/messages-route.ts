import { z } from 'zod';
import type { Queryable } from '../src/kernel/db/database.ts';
import { defineRoute, ok, type Route } from '../src/kernel/http/define-route.ts';
import { page, pageQuery, toPage } from '../src/kernel/http/paging.ts';
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
  readonly created_at: Date;
}

export function messagesRoute({ db, secrets }: { readonly db: Queryable; readonly secrets: Secrets }): Route {
  return defineRoute(
    {
      id: 'listSandboxMessages',
      method: 'GET',
      path: '/sandbox/messages',
      tag: 'Sandbox',
      summary: 'Mails and SMS that would have been sent to you',
      description:
        'With SANDBOX_AUTO_VERIFY=false the codes that verify your email and phone number are found here, and always the tokens for a new password. What is sent to an email that you have not verified is on the console alone.',
      auth: 'key',
      scope: 'read',
      query: pageQuery,
      returns: {
        200: {
          description: 'Newest first',
          schema: page('messages', message),
          example: {
            messages: [
              {
                id: 'msg_01kp3v2m8rfk2s6y0e6v9q4w1x',
                channel: 'sms',
                to: '+14155550123',
                subject: 'Your Paywright code',
                text: '493021 is your Paywright code.',
                createdAt: '2026-01-15T10:00:00.000Z',
              },
            ],
            nextCursor: null,
          },
        },
      },
    },
    async ({ caller, query }) => {
      const { rows } = await db.query<MessageRow>(
        `SELECT id, channel, recipient, subject, sealed, created_at FROM messages
            WHERE account_id = $1 AND sealed IS NOT NULL AND ($2::text IS NULL OR id < $2)
            ORDER BY id DESC LIMIT $3`,
        [caller.accountId, query.cursor ?? null, query.limit + 1],
      );
      const { items, nextCursor } = toPage(rows, query.limit, (row) => row.id);
      const messages = items.map((row) => ({
        id: row.id,
        channel: row.channel,
        to: row.recipient,
        subject: row.subject,
        text: secrets.open('messages', row.sealed),
        createdAt: row.created_at.toISOString(),
      }));
      return ok({ messages, nextCursor });
    },
  );
}
