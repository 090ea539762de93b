import { z } from 'zod';
import type { Database } from '../db/database.ts';
import { amountNumber, amountOrRefuse, currency } from '../http/amount-field.ts';
import { defineRoute, ok, type Route } from '../http/define-route.ts';
import { httpErrors } from '../http/errors.ts';
import { page, pageQuery, toPage } from '../http/paging.ts';
import { houseAccount, userAccount } from '../ledger/account-id.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { toJsonNumber } from '../money/amount.ts';
import type { Secrets } from '../secrets.ts';

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

/** What only a sandbox has. In live mode these addresses do not exist. */
export interface SandboxParts {
  readonly db: Database;
  readonly secrets: Secrets;
  readonly ledger: Ledger;
}

export function sandboxRoutes(parts: SandboxParts): Route[] {
  return [fundRoute(parts), messagesRoute(parts)];
}

function fundRoute({ ledger }: SandboxParts): Route {
  return defineRoute(
    {
      id: 'fundSandboxAccount',
      method: 'POST',
      path: '/sandbox/fund',
      tag: 'Sandbox',
      summary: 'Give yourself play money',
      auth: 'key',
      body: z.strictObject({ amount: amountNumber, currency: currency.default('USDC') }),
      examples: { body: { amount: 100, currency: 'USDC' } },
      idempotent: true,
      returns: {
        200: {
          description: 'It is in your balance',
          schema: z.object({ transferId: z.string(), amount: z.number(), currency }),
          example: { transferId: 'trf_01kp3v2m8rfk2s6y0e6v9q4w1x', amount: 100, currency: 'USDC' },
        },
      },
    },
    async ({ caller: { accountId, keyId }, body, idempotency }) => {
      const amount = amountOrRefuse(body.currency, body.amount);
      const result = await ledger.post({
        type: 'deposit',
        amount,
        entries: [
          { account: houseAccount('custody', amount.asset), atomic: -amount.atomic },
          { account: userAccount(accountId, amount.asset), atomic: amount.atomic },
        ],
        recipientId: accountId,
        keyId,
        ...(idempotency !== undefined && { idempotency: { accountId, ...idempotency } }),
      });
      if (result.outcome === 'mismatch') throw httpErrors.idempotency_mismatch();
      if (!('posting' in result)) throw httpErrors.unauthorized();
      const { id, amount: posted } = result.posting;
      return ok({ transferId: id, amount: toJsonNumber(posted), currency: body.currency });
    },
  );
}

function messagesRoute({ db, secrets }: SandboxParts): Route {
  return defineRoute(
    {
      id: 'listSandboxMessages',
      method: 'GET',
      path: '/sandbox/messages',
      tag: 'Sandbox',
      summary: 'Mails and SMS that would have been sent to you',
      description: 'With SANDBOX_AUTO_VERIFY=false the codes that verify your email and phone number are found here.',
      auth: 'key',
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
