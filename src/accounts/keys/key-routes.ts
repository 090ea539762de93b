import { z } from 'zod';
import { dailyCapErrors } from '../../kernel/daily-caps/count-today.ts';
import { created, defineRoute, ok, type Route, scopes } from '../../kernel/http/define-route.ts';
import { idParameter } from '../../kernel/http/find-route.ts';
import { listRoute } from '../../kernel/http/list-route.ts';
import { dateTimeField, dateTimeFormats } from '../../kernel/http/read-moment.ts';
import { lockOwner } from '../../ledger/require-live-key.ts';
import { keyActor } from '../actor.ts';
import { accountErrors } from '../errors.ts';
import { exampleKey, otp, shownKey, visibleText } from '../fields.ts';
import type { AccountParts } from '../parts.ts';
import { withOtp } from '../second-factor/require-second-factor.ts';
import { freezeRoutes } from './freeze-routes.ts';
import { makeKey } from './make-key.ts';
import { requireUnfrozen } from './place.ts';
import { revokeAllKeys, revokeKeyEverywhere, revokeMostKeys } from './revoke-keys.ts';
import { rotateRoute } from './rotate-route.ts';
import { describeKey, describeNewKey, exampleListed, key, listLiveKeys, scope } from './shown-key.ts';

export const keyWebhooks = z.array(z.object({ id: z.string(), url: z.string() })).meta({
  description: 'Webhooks that were created with the revoked keys. They stay active unless they were deleted as well.',
});
export const exampleWebhooks = [{ id: 'whk_01kp3v2m8rfk2s6y0e6v9q4w1x', url: 'https://agent.example.com/paywright' }];

const endWebhooks = z
  .boolean()
  .default(false)
  .meta({ description: 'Also deletes the webhooks that were created with the revoked keys.' });

export function keyRoutes(parts: AccountParts): Route[] {
  return [
    keysRoute(parts),
    makeRoute(parts),
    rotateRoute(parts),
    ...freezeRoutes(parts),
    endRoute(parts),
    endAllRoute(parts),
    endOwnRoute(parts),
  ];
}

function keysRoute({ db, clock, idleMs }: AccountParts): Route {
  return listRoute({
    id: 'listKeys',
    path: '/account/keys',
    tag: 'Accounts',
    summary: 'List your API keys',
    description:
      'Keys that can still be used. Revoke a key that you do not recognise, or that was used from an unknown address.',
    name: 'keys',
    item: key,
    example: exampleListed,
    rows: (query) => listLiveKeys(db, { ...query, clock, idleMs }),
    describe: (row, { keyId }) => describeKey(row, { idleMs, keyId }),
  });
}

/** Accepts no Idempotency-Key, because a replay would require the service to store the plain key. */
function makeRoute(parts: AccountParts): Route {
  return defineRoute(
    {
      id: 'createKey',
      method: 'POST',
      path: '/account/keys',
      tag: 'Accounts',
      summary: 'Create an API key',
      description:
        'Give each agent its own key with only the scopes it needs. Keys form a tree of at most 8 levels: the new key is below the calling key, or below `parent`. It has no more scopes and no later expiry than either of them, and revoking a key revokes all keys below it. An account can have 1,000 working keys. The new key is shown only once: if the response is lost, revoke the key and create another. You receive an email when a key with the scope `withdraw` is created; an account with a second factor needs `otp` for it.',
      auth: 'key',
      scope: 'manage',
      body: z.strictObject({
        name: visibleText(100).meta({ description: 'A name to recognise the key by.' }),
        scopes: z
          .array(scope)
          .min(1, 'must name at least one scope')
          .max(scopes.length)
          .optional()
          .meta({ description: 'Defaults to the scopes of the parent.' }),
        expiresAt: dateTimeField.optional().meta({
          description: `${dateTimeFormats} Defaults to the expiry of the parent or of the calling key, whichever is earlier, if they have one.`,
        }),
        parent: idParameter.optional().meta({
          description: 'The id of the key above the new one: the calling key, which is the default, or a key below it.',
        }),
        otp: otp.optional(),
      }),
      examples: { body: { name: exampleListed.name, scopes: exampleListed.scopes } },
      returns: {
        201: {
          description: 'The key',
          schema: key.extend({ apiKey: shownKey }),
          example: {
            apiKey: exampleKey,
            ...exampleListed,
            lastUsedAt: null,
            lastUsedFrom: null,
            expiresAt: '2026-04-15T10:00:00.000Z',
          },
        },
      },
      errors: [
        accountErrors.key_not_found,
        accountErrors.key_outlives_maker,
        accountErrors.key_frozen,
        accountErrors.key_tree_too_deep,
        accountErrors.too_many_keys,
        accountErrors.otp_required,
        accountErrors.wrong_otp,
        accountErrors.too_many_attempts,
        dailyCapErrors.daily_cap_reached,
      ],
    },
    async ({ caller, body: { name, scopes: wanted, expiresAt, parent, otp: given }, ip }) => {
      const chosen = wanted && scopes.filter((one) => wanted.includes(one));
      const wish = { actor: keyActor(caller, ip), name, scopes: chosen, expiresAt, parent };
      const made = await withOtp(parts, { caller, ip, otp: given }, (proveOwner) =>
        parts.db.transaction((tx) => makeKey(tx, parts, { ...wish, proveOwner })),
      );
      return created(describeNewKey(made, { ...parts, keyId: caller.keyId }));
    },
  );
}

const revokedSchema = z.object({ revoked: z.literal(true), webhooks: keyWebhooks });

function endRoute(parts: AccountParts): Route {
  return defineRoute(
    {
      id: 'deleteKey',
      method: 'DELETE',
      path: '/account/keys/:id',
      tag: 'Accounts',
      summary: 'Revoke a key',
      description:
        'Also revokes all keys below it, unless another working key has its place: while a rotated key and its replacement both work, only the named one is revoked. Wallets and funds are unaffected. Revoking a key again returns the webhooks of the revoked keys, and can delete them.',
      auth: 'key',
      scope: 'manage',
      params: z.strictObject({ id: idParameter }),
      query: z.strictObject({
        endWebhooks: z
          .enum(['true', 'false'], { error: 'must be true or false' })
          .optional()
          .meta({ description: '`true` also deletes the webhooks that were created with the revoked keys.' }),
      }),
      examples: { params: { id: exampleListed.id } },
      returns: {
        200: {
          description: 'The key is revoked',
          schema: z.object({ id: z.string(), ...revokedSchema.shape }),
          example: { id: exampleListed.id, revoked: true, webhooks: exampleWebhooks },
        },
      },
      errors: [accountErrors.key_not_found, accountErrors.key_frozen],
    },
    async ({ caller, params: { id }, query, ip }) => {
      const asked = query.endWebhooks === 'true' ? 'end' : 'keep';
      const webhooks = await revokeKeyEverywhere(parts, { actor: keyActor(caller, ip), key: id, webhooks: asked });
      return ok({ id, revoked: true, webhooks });
    },
  );
}

function endAllRoute({ db, changes, onKeysEnded }: AccountParts): Route {
  return defineRoute(
    {
      id: 'revokeAllKeys',
      method: 'POST',
      path: '/account/keys/revoke-all',
      tag: 'Accounts',
      summary: 'Revoke all keys',
      description:
        'Revokes every key of the account, including the calling one; sign in again to get a new one. If your password may be known to others, change it too. Wallets and funds are unaffected. The response lists all webhooks of the account.',
      auth: 'key',
      countsKeys: true,
      scope: 'manage',
      body: z.strictObject({ endWebhooks }).optional(),
      examples: { body: { endWebhooks: true } },
      returns: {
        200: {
          description: 'All keys are revoked',
          schema: revokedSchema,
          example: { revoked: true, webhooks: exampleWebhooks },
        },
      },
      errors: [accountErrors.key_frozen],
    },
    async ({ caller, body, ip }) => {
      const { accountId, keyId } = caller;
      const by = { keyId, address: ip };
      // Checked before many keys are revoked. Only the check behind the lock is binding.
      await requireUnfrozen(db, caller);
      await revokeMostKeys(db, { accountId, by });
      const { webhooks } = await changes.everywhere(accountId, async (tx) => {
        await lockOwner(tx, accountId);
        await requireUnfrozen(tx, caller);
        return revokeAllKeys(tx, onKeysEnded, { accountId, webhooks: body?.endWebhooks ? 'end' : 'keep', by });
      });
      return ok({ revoked: true, webhooks });
    },
  );
}

function endOwnRoute(parts: AccountParts): Route {
  return defineRoute(
    {
      id: 'revokeKey',
      method: 'POST',
      path: '/account/revoke-key',
      tag: 'Accounts',
      summary: 'Revoke the calling key',
      description:
        'Any key can revoke itself, whatever its scopes. This also revokes all keys below it, unless another working key has its place. Wallets and funds are unaffected. Sign in again to get a new key.',
      auth: 'key',
      countsKeys: true,
      scope: 'any',
      body: z.strictObject({ endWebhooks }).optional(),
      examples: { body: { endWebhooks: true } },
      returns: {
        200: {
          description: 'The key is revoked',
          schema: revokedSchema,
          example: { revoked: true, webhooks: [] },
        },
      },
    },
    async ({ caller, body, ip }) => {
      const asked = body?.endWebhooks === true ? 'end' : 'keep';
      const actor = keyActor(caller, ip);
      const webhooks = await revokeKeyEverywhere(parts, { actor, key: caller.keyId, webhooks: asked });
      return ok({ revoked: true, webhooks });
    },
  );
}
