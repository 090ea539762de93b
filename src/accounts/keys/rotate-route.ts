import { z } from 'zod';
import { dailyCapErrors } from '../../kernel/daily-caps/count-today.ts';
import { created, defineRoute, type Route } from '../../kernel/http/define-route.ts';
import { accountErrors } from '../errors.ts';
import { exampleKey, shownKey } from '../fields.ts';
import type { AccountParts } from '../parts.ts';
import { rotateKey } from './rotate-key.ts';
import { describeNewKey, exampleListed, key } from './shown-key.ts';

const longestOverlapSeconds = 24 * 60 * 60;

/** Long enough to notice a lost response and to rotate again with the old key. */
const usualOverlapSeconds = 60 * 60;

const overlapSeconds = z
  .int({ error: 'must be a whole number of seconds' })
  .min(0, 'must be 0 or more')
  .max(longestOverlapSeconds, `must be at most ${longestOverlapSeconds}, which is a day`)
  .default(usualOverlapSeconds)
  .meta({
    description:
      'How many seconds the old key keeps working. 0 revokes it immediately, which is right for a leaked key. But if a key rotates itself with 0 and the response is lost, you must sign in to get a new key.',
  });

/** Takes no Idempotency-Key, because the response contains a secret and must not be stored. */
export function rotateRoute(parts: AccountParts): Route {
  return defineRoute(
    {
      id: 'rotateKey',
      method: 'POST',
      path: '/account/keys/:id/rotate',
      tag: 'Accounts',
      summary: 'Rotate a key',
      description:
        'Creates a new key with the same name, scopes and expiry. It takes the place of the old key in the tree, with its policy, what it has spent, and the keys below it. The old key keeps working for `overlapSeconds`, one hour by default, but never past its own expiry. A key with the scope `manage` can rotate itself and keys below it with no more scopes and no later expiry than its own; a root without a policy can also rotate other roots. Webhooks of the old key move to the new one. The new key is shown only once: if the response is lost, find its id in `rotatedTo` of the old key, revoke it, and rotate the old key again before the overlap ends. You receive an email when a key with the scope `withdraw` is rotated.',
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
              endsAt: z.iso.datetime().meta({ description: 'When the old key stops working.' }),
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
        accountErrors.key_has_no_secret,
        accountErrors.key_outlives_maker,
        accountErrors.not_an_ancestor,
        accountErrors.key_frozen,
        dailyCapErrors.daily_cap_reached,
      ],
    },
    async ({ caller, params: { id }, body, ip }) => {
      const rotation = { caller, ip, key: id, overlapSeconds: body?.overlapSeconds ?? usualOverlapSeconds };
      const { key: made, oldEndsAt } = await parts.changes.everywhere(caller.accountId, (tx) =>
        rotateKey(tx, parts, rotation),
      );
      const rotatedFrom = { id, endsAt: oldEndsAt.toISOString() };
      return created({ ...describeNewKey(made, { ...parts, keyId: caller.keyId }), rotatedFrom });
    },
  );
}
