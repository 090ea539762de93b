import { z } from 'zod';
import { dailyCapErrors } from '../../kernel/daily-caps/count-today.ts';
import { defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import { idParameter } from '../../kernel/http/find-route.ts';
import { keyActor } from '../actor.ts';
import { accountErrors } from '../errors.ts';
import type { AccountParts } from '../parts.ts';
import { freezeKey, unfreezeKey } from './freeze-key.ts';
import { exampleListed } from './shown-key.ts';

const params = z.strictObject({ id: idParameter });
const examples = { params: { id: exampleListed.id } };

export function freezeRoutes(parts: AccountParts): Route[] {
  return [freezeRoute(parts), unfreezeRoute(parts)];
}

function freezeRoute(parts: AccountParts): Route {
  return defineRoute(
    {
      id: 'freezeKey',
      method: 'POST',
      path: '/account/keys/:id/freeze',
      tag: 'Accounts',
      summary: 'Freeze a key',
      description:
        'Stops the payments of a key and of all keys below it, without revoking them. Once this is answered, every payment with them is refused with `key_frozen`. They can still read, and revoke themselves, but not change keys. Their open withdrawals, orders, swaps, cross-chain transfers and purchases stop at their next reversible step, and the money returns, less gas that was already spent for native coin, a swap or a cross-chain transfer. Any key of the account with the scope `manage` can freeze any key, also itself. Freezing a frozen key changes nothing.',
      auth: 'key',
      scope: 'manage',
      params,
      examples,
      returns: {
        200: {
          description: 'The key is frozen',
          schema: z.object({ id: z.string(), frozen: z.literal(true) }),
          example: { id: exampleListed.id, frozen: true },
        },
      },
      errors: [accountErrors.key_not_found, accountErrors.key_frozen],
    },
    async ({ caller, params: { id }, ip }) => {
      await freezeKey(parts, { actor: keyActor(caller, ip), key: id });
      return ok({ id, frozen: true });
    },
  );
}

function unfreezeRoute(parts: AccountParts): Route {
  return defineRoute(
    {
      id: 'unfreezeKey',
      method: 'POST',
      path: '/account/keys/:id/unfreeze',
      tag: 'Accounts',
      summary: 'Unfreeze a key',
      description:
        'Ends a freeze. Only a key above the frozen one in the tree can do this, with the scope `manage` and not frozen itself. No key is above a root, so another root without a policy can unfreeze it: sign in to get one. The owner can do it on the page `/app/keys`. Keys further down that were frozen on their own stay frozen. You receive an email. Unfreezing a key that is not frozen changes nothing.',
      auth: 'key',
      scope: 'manage',
      params,
      examples,
      returns: {
        200: {
          description: 'The freeze of this key has ended',
          schema: z.object({
            id: z.string(),
            frozen: z.boolean().meta({ description: 'True only if a key above it is still frozen.' }),
          }),
          example: { id: exampleListed.id, frozen: false },
        },
      },
      errors: [
        accountErrors.key_not_found,
        accountErrors.key_frozen,
        accountErrors.not_an_ancestor,
        dailyCapErrors.daily_cap_reached,
      ],
    },
    async ({ caller, params: { id }, ip }) => {
      return ok({ id, frozen: await unfreezeKey(parts, { actor: keyActor(caller, ip), key: id }) });
    },
  );
}
