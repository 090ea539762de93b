import { z } from 'zod';
import { defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import { idParameter } from '../../kernel/http/find-route.ts';
import { listRoute } from '../../kernel/http/list-route.ts';
import { admit, keyActor } from '../actor.ts';
import { recordAudit } from '../audit/record.ts';
import { accountErrors } from '../errors.ts';
import { speaksForOwner } from '../keys/place.ts';
import type { AccountParts } from '../parts.ts';
import { endSession, type ListedSession, listSessions } from './owner-session.ts';

const session = z.object({
  id: z.string(),
  address: z.string().meta({ description: 'The IP address of the sign-in.' }),
  browser: z.string().nullable().meta({ description: 'As the browser named itself.' }),
  createdAt: z.iso.datetime(),
  lastSeenAt: z.iso.datetime().meta({ description: 'To the minute.' }),
  endsAt: z.iso.datetime().meta({
    description:
      'When it ends if it is not used: 30 minutes after the last use, and at most 12 hours after the sign-in.',
  }),
});

const example = {
  id: 'ses_01kp3v2m8rfk2s6y0e6v9q4w1x',
  address: '203.0.113.7',
  browser: 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X)',
  createdAt: '2026-01-15T10:00:00.000Z',
  lastSeenAt: '2026-01-15T10:12:00.000Z',
  endsAt: '2026-01-15T10:42:00.000Z',
};

function describeSession({ id, address, browser, createdAt, seenAt, endsAt }: ListedSession): z.input<typeof session> {
  return {
    id,
    address,
    browser,
    createdAt: createdAt.toISOString(),
    lastSeenAt: seenAt.toISOString(),
    endsAt: endsAt.toISOString(),
  };
}

export function sessionRoutes(parts: AccountParts): Route[] {
  return [listSessionsRoute(parts), endSessionRoute(parts)];
}

function listSessionsRoute({ db }: AccountParts): Route {
  return listRoute({
    id: 'listSessions',
    path: '/account/sessions',
    tag: 'Accounts',
    summary: 'List your sessions on the website',
    description:
      'The open sessions of the owner, who signs in on the pages with email and password. The API never accepts a session.',
    name: 'sessions',
    item: session,
    example,
    cursorPrefix: 'ses',
    rows: ({ accountId, cursor, limit }) => listSessions(db, { accountId, cursor, limit: limit + 1 }),
    describe: describeSession,
  });
}

/** Otherwise an agent could keep its owner from the pages where keys are revoked. */
const rootsOnly = 'Only a root key that the owner has not limited can end a session.';

function endSessionRoute({ db }: AccountParts): Route {
  return defineRoute(
    {
      id: 'endSession',
      method: 'DELETE',
      path: '/account/sessions/:id',
      tag: 'Accounts',
      summary: 'End a session on the website',
      description:
        'The browser is signed out with its next request. Only for root keys that the owner has not limited.',
      auth: 'key',
      scope: 'manage',
      params: z.strictObject({ id: idParameter }),
      examples: { params: { id: example.id } },
      returns: {
        200: {
          description: 'The session has ended',
          schema: z.object({ id: z.string(), ended: z.literal(true) }),
          example: { id: example.id, ended: true },
        },
      },
      errors: [accountErrors.session_not_found, accountErrors.not_an_ancestor, accountErrors.key_frozen],
    },
    async ({ caller, params: { id }, ip }) => {
      const { accountId, keyId } = caller;
      await db.transaction(async (tx) => {
        const key = await admit(tx, keyActor(caller, ip));
        if (key === undefined || !speaksForOwner(key)) throw accountErrors.not_an_ancestor(rootsOnly);
        if (!(await endSession(tx, { accountId, id }))) throw accountErrors.session_not_found();
        const by = { keyId, address: ip };
        await recordAudit(tx, { accountId, action: 'session.ended', by, details: { sessions: 1 } });
      });
      return ok({ id, ended: true });
    },
  );
}
