import { z } from 'zod';
import { dailyCapErrors } from '../../kernel/daily-caps/errors.ts';
import { created, defineRoute, type Route } from '../../kernel/http/define-route.ts';
import { accountErrors } from '../errors.ts';
import { exampleKey, shownKey } from '../fields.ts';
import type { AccountParts } from '../parts.ts';
import { rotateKey } from './rotate-key.ts';
import { describeKey, exampleListed, key } from './shown-key.ts';

const longestOverlapSeconds = 24 * 60 * 60;

/** Long enough to find out that an answer was lost, and to rotate again with the old key. */
const usualOverlapSeconds = 60 * 60;

const overlapSeconds = z
  .int({ error: 'must be a whole number of seconds' })
  .min(0, 'must be 0 or more')
  .max(longestOverlapSeconds, `must be at most ${longestOverlapSeconds}, which is a day`)
  .default(usualOverlapSeconds)
  .meta({
    description:
      'How many seconds the old key goes on working. 0 ends it at once: right for a key that may have leaked, but if a key rotates itself and the answer is lost, it is locked out and its owner has to sign in.',
  });

/** Takes no Idempotency-Key, as making a key does: its answer holds a secret and is not kept. */
export function rotateRoute({ changes, ...parts }: AccountParts): Route {
  return defineRoute(
    {
      id: 'rotateKey',
      method: 'POST',
      path: '/account/keys/:id/rotate',
      tag: 'Accounts',
      summary: 'Replace a key',
      description:
        'Makes a new key with the same name, scopes and expiry. The old one works for another `overlapSeconds`, an hour if you do not say, and never longer than it would have. A key with the scope `manage` rotates itself, and other keys that may do no more than itself and end no later. Webhooks of the old key belong to the new one. The new key is shown this once: if the answer is lost, find its id in `rotatedTo` of the old key, revoke it and rotate the old key again before its overlap is over. Your email is told of a key that may withdraw.',
      auth: 'key',
      scope: 'manage',
      params: z.strictObject({ id: z.string().max(64) }),
      body: z.strictObject({ overlapSeconds }).optional(),
      examples: { params: { id: exampleListed.id }, body: { overlapSeconds: 600 } },
      returns: {
        201: {
          description: 'The new key',
          schema: key.extend({
            apiKey: shownKey,
            rotatedFrom: z.object({
              id: z.string(),
              endsAt: z.iso.datetime().meta({ description: 'Until then the old key works.' }),
            }),
          }),
          example: {
            apiKey: exampleKey,
            ...exampleListed,
            id: 'key_01kp5xq0v4eh7a3m9d2c8b6n5z',
            createdAt: '2026-01-20T10:00:00.000Z',
            lastUsedAt: null,
            lastUsedFrom: null,
            expiresAt: '2026-04-20T10:00:00.000Z',
            rotatedFrom: { id: exampleListed.id, endsAt: '2026-01-20T10:10:00.000Z' },
          },
        },
      },
      errors: [
        accountErrors.key_not_found,
        accountErrors.key_ended,
        accountErrors.key_already_rotated,
        accountErrors.key_outlives_maker,
        dailyCapErrors.daily_cap_reached,
      ],
    },
    async ({ caller, params: { id }, body, ip }) => {
      const rotation = { caller, ip, key: id, overlapSeconds: body?.overlapSeconds ?? usualOverlapSeconds };
      const { key: made, oldEndsAt } = await changes.everywhere(caller.accountId, (tx) =>
        rotateKey(tx, parts, rotation),
      );
      const { apiKey, ...shown } = made;
      const unused = { ...shown, lastUsedAt: null, lastUsedFrom: null, rotatedTo: null };
      const rotatedFrom = { id, endsAt: oldEndsAt.toISOString() };
      return created({ apiKey, ...describeKey(unused, { idleMs: parts.idleMs, keyId: caller.keyId }), rotatedFrom });
    },
  );
}
