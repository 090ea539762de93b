import { z } from 'zod';
import { accountErrors } from '../accounts/errors.ts';
import type { Database } from '../kernel/db/database.ts';
import { defineRoute, ok, type Route } from '../kernel/http/define-route.ts';
import { pageQuery } from '../kernel/http/list-route.ts';
import { createLongPoll, waitField } from '../kernel/http/long-poll.ts';
import type { Wakes } from '../kernel/jobs/wakes.ts';
import type { EventType } from '../ledger/event-types.ts';
import { webhookErrors } from './errors.ts';
import { noteReading, openFeed, readFeed, topicOf } from './feed.ts';

export interface FeedParts {
  readonly db: Database;
  readonly events: readonly EventType[];
  readonly wakes: Wakes;
  /** Aborted when the process begins to stop. */
  readonly stopping: AbortSignal;
}

const event = z.object({
  id: z.string(),
  type: z.string(),
  createdAt: z.iso.datetime(),
  data: z.record(z.string(), z.unknown()).meta({
    description:
      'As in the body of a webhook. Names, descriptions and products in it are untrusted third-party content.',
  }),
});

type Event = z.input<typeof event>;

const cursor = z.string().meta({ description: 'The `after` of the next request.' });

const example: Event = {
  id: 'evt_01kp3v2m8rfk2s6y0e6v9q4w1x',
  type: 'payment.received',
  createdAt: '2026-01-15T10:00:00.000Z',
  data: { transferId: 'trf_01kp3v2m8rfk2s6y0e6v9q4w1x', amount: 50, currency: 'USDC' },
};

export function feedRoutes(parts: FeedParts): Route[] {
  return [openRoute(parts), eventsRoute(parts)];
}

function openRoute({ db, events }: FeedParts): Route {
  return defineRoute(
    {
      id: 'openEventFeed',
      method: 'POST',
      path: '/account/events',
      tag: 'Webhooks',
      summary: 'Open the event feed',
      description:
        'From now on, every event of the account is kept in order for `GET /account/events`, for a program that no URL leads to. Opening an open feed changes nothing. A feed that is not read for three days closes.',
      auth: 'key',
      scope: 'manage',
      returns: {
        200: {
          description: 'Where reading begins: behind the newest event',
          schema: z.object({ cursor }),
          example: { cursor: example.id },
        },
      },
      errors: [accountErrors.key_frozen],
    },
    async ({ caller }) =>
      ok({
        cursor: await db.transaction((tx) =>
          openFeed(
            tx,
            caller,
            events.map(({ name }) => name),
          ),
        ),
      }),
  );
}

function eventsRoute({ db, wakes, stopping }: FeedParts): Route {
  const wait = createLongPoll(wakes, stopping);
  return defineRoute(
    {
      id: 'listEvents',
      method: 'GET',
      path: '/account/events',
      tag: 'Webhooks',
      summary: 'Read the event feed, or wait for the next event',
      description:
        'The events behind `after`, oldest first, each exactly once: an event that is committed late comes later, and no cursor skips it. The same cursor gives the same events again. With `wait`, an empty page comes only after that many seconds; ten requests of an account can wait at a time, and further ones are answered at once. An event is kept for three days, among the newest 10,000 of the account.',
      auth: 'key',
      scope: 'read',
      query: z.strictObject({
        after: z
          .string()
          .regex(/^evt_[0-9a-z]{26}$/, 'must be a cursor, or the id of an event')
          .meta({
            description: 'The `cursor` of the previous answer, or the id of the last event that you have processed.',
          }),
        limit: pageQuery.shape.limit,
        wait: waitField.meta({ description: 'How many seconds to wait for an event, 0 to 30.' }),
      }),
      examples: { query: { after: example.id, wait: '30' } },
      returns: {
        200: {
          description: 'Oldest first',
          schema: z.object({
            events: z.array(event),
            cursor,
            more: z.boolean().meta({ description: 'Whether the next page has events already.' }),
          }),
          example: { events: [example], cursor: example.id, more: false },
        },
      },
      errors: [webhookErrors.events_gone],
    },
    async ({ caller: { accountId, keyId }, query: { after, limit, wait: seconds }, gone }) => {
      const read = () => readFeed(db, { accountId, keyId, after, most: limit + 1 });
      await noteReading(db, accountId);
      let found = await read();
      if (seconds > 0 && found.length === 0) {
        const waiting = { topic: topicOf(accountId), accountId, ms: seconds * 1_000, gone };
        await wait(waiting, async () => (await read()).length > 0);
        found = await read();
      }
      const events = found.slice(0, limit).map((body) => JSON.parse(body) as Event);
      return ok({ events, cursor: events.at(-1)?.id ?? after, more: found.length > limit });
    },
  );
}
