import { z } from 'zod';
import type { AccountChanges } from '../accounts/account-changes.ts';
import { keyActor } from '../accounts/actor.ts';
import { accountErrors } from '../accounts/errors.ts';
import { dailyCapErrors } from '../kernel/daily-caps/count-today.ts';
import type { Database } from '../kernel/db/database.ts';
import { currency } from '../kernel/http/amount-field.ts';
import { defineRoute, ok, type Route } from '../kernel/http/define-route.ts';
import { idParameter } from '../kernel/http/find-route.ts';
import { scopeRequired } from '../kernel/http/require-scope.ts';
import { reads } from '../kernel/http/tool.ts';
import { validate } from '../kernel/http/validate.ts';
import { withoutNulls } from '../kernel/http/without-nulls.ts';
import type { Secrets } from '../kernel/secrets/secrets.ts';
import { describeBudget, listBudgets } from './budget-states.ts';
import { removePolicy, setPolicy } from './change-policy.ts';
import { operations } from './consent.ts';
import { policyErrors } from './errors.ts';
import { findPolicy } from './find-policy.ts';
import { type Policy, policyBody, shownPolicy, spans, toPolicy, unknownZone, zonesOf } from './policy.ts';
import { conditions } from './rules.ts';
import { type SimulateParts, simulate } from './simulate.ts';
import { findUnknownZone } from './time-zone.ts';
import type { Way } from './way.ts';

export interface PolicyParts extends SimulateParts {
  readonly db: Database;
  readonly secrets: Secrets;
  readonly accountChanges: AccountChanges;
  /** One for each operation. */
  readonly ways: readonly Way[];
}

export function policyRoutes(parts: PolicyParts): Route[] {
  return [setRoute(parts), getRoute(parts), deleteRoute(parts), budgetsRoute(parts), simulateRoute(parts)];
}

const tag = 'Policies';
const path = '/account/keys/:id/policy';
const params = z.strictObject({ id: idParameter });
const exampleKey = 'key_01kp3v2m8rfk2s6y0e6v9q4w1x';

const exampleBody = {
  rules: [{ effect: 'allow', operation: ['transfer'], amount: { lte: 5 }, counterpartyIs: 'known' }],
  budgets: [{ id: 'daily', amount: 20, currency: 'USDC', window: 'day' }],
} as const;

const examplePolicy = {
  key: exampleKey,
  rules: [{ effect: 'allow', operation: ['transfer'], amount: { lte: 5 }, counterpartyIs: 'known' }],
  budgets: [
    {
      id: 'daily',
      amount: 20,
      currency: 'USDC' as const,
      window: 'day' as const,
      timeZone: 'UTC',
      onExceed: 'deny' as const,
    },
  ],
  version: '5f2b1c0a9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a',
};

function show(key: string, { policy, version }: { readonly policy: Policy; readonly version: string }) {
  const { rules, budgets } = policy;
  const body = {
    key,
    ...(rules && { rules: rules.map((rule) => ({ ...rule })) }),
    budgets: budgets.map(({ operations: counted, ...budget }) => ({
      ...budget,
      ...(counted && { operations: [...counted] }),
    })),
    version,
  };
  return { ...ok(body), headers: { ETag: `"${version}"` } };
}

function setRoute({ db, secrets, accountChanges }: PolicyParts): Route {
  return defineRoute(
    {
      id: 'setPolicy',
      method: 'PUT',
      path,
      tag,
      summary: 'Set the policy of a key',
      description:
        'Replaces the rules and budgets of a key. A payment needs the consent of the calling key and of every key above it, and is counted by all their budgets, so a policy also limits the keys below. Only a key above it, with the scope `manage`, can set the policy of a key; the owner can set that of every key on the page `/app/keys`. With the header `If-Match` and the `version` of a policy in quotes, a policy that has changed since is left as it is. A key can have at most 100 different budget ids since it exists, because what was spent is kept under an id when its budget leaves the policy. Takes effect for every payment after the response. You receive an email when the new policy may allow more than the old one.',
      auth: 'key',
      scope: 'manage',
      params,
      body: policyBody,
      ifMatch: true,
      etag: true,
      examples: { params: { id: exampleKey }, body: exampleBody as never },
      returns: { 200: { description: 'The policy', schema: shownPolicy, example: examplePolicy } },
      errors: [
        accountErrors.key_not_found,
        accountErrors.not_an_ancestor,
        accountErrors.key_frozen,
        policyErrors.policy_changed,
        dailyCapErrors.daily_cap_reached,
      ],
    },
    async ({ caller, params: { id }, body, ip, header }) => {
      const policy = toPolicy(body);
      const zone = await findUnknownZone(db, zonesOf(policy));
      if (zone !== undefined) throw unknownZone(zone);
      const change = { actor: keyActor(caller, ip), key: id, ifMatch: header('if-match') };
      const version = await accountChanges.everywhere(caller.accountId, (tx) => setPolicy(tx, secrets, change, policy));
      return show(id, { policy, version });
    },
  );
}

function getRoute({ db }: PolicyParts): Route {
  return defineRoute(
    {
      id: 'getPolicy',
      method: 'GET',
      path,
      tag,
      summary: 'Retrieve the policy of a key',
      description: 'For the key itself and the keys above it. The policies of the keys above it apply as well.',
      auth: 'key',
      scope: 'read',
      params,
      etag: true,
      examples: { params: { id: exampleKey } },
      returns: { 200: { description: 'The policy', schema: shownPolicy, example: examplePolicy } },
      errors: [accountErrors.key_not_found, policyErrors.policy_not_found, accountErrors.not_an_ancestor],
    },
    async ({ caller, params: { id } }) => show(id, await findPolicy(db, caller, id)),
  );
}

function deleteRoute({ secrets, accountChanges }: PolicyParts): Route {
  return defineRoute(
    {
      id: 'deletePolicy',
      method: 'DELETE',
      path,
      tag,
      summary: 'Delete the policy of a key',
      description:
        'The key is then limited only by its scopes and by the policies of the keys above it. You receive an email. What was spent is kept: a budget with the same id goes on from there.',
      auth: 'key',
      scope: 'manage',
      params,
      ifMatch: true,
      examples: { params: { id: exampleKey } },
      returns: {
        200: {
          description: 'The policy was deleted',
          schema: z.object({ id: z.string(), deleted: z.literal(true) }),
          example: { id: exampleKey, deleted: true },
        },
      },
      errors: [
        accountErrors.key_not_found,
        policyErrors.policy_not_found,
        accountErrors.not_an_ancestor,
        accountErrors.key_frozen,
        policyErrors.policy_changed,
      ],
    },
    async ({ caller, params: { id }, ip, header }) => {
      const change = { actor: keyActor(caller, ip), key: id, ifMatch: header('if-match') };
      await accountChanges.everywhere(caller.accountId, (tx) => removePolicy(tx, secrets, change));
      return ok({ id, deleted: true as const });
    },
  );
}

const budgetState = z.object({
  key: z.string().meta({ description: 'The key that has the budget: yours, or one above it.' }),
  id: z.string(),
  currency,
  window: z.enum(spans),
  operations: z.array(z.enum(operations)).meta({ description: 'The operations that count.' }),
  limit: z.string(),
  spent: z.string().meta({ description: 'In the current window. Money that is held counts as spent.' }),
  remaining: z.string(),
  resetsAt: z.iso.datetime().nullable().meta({
    description: 'When the window ends; for a rolling window, when the next part returns. Null for `once`.',
  }),
});

const exampleState = {
  key: exampleKey,
  id: 'daily',
  currency: 'USDC' as const,
  window: 'day' as const,
  operations: [...operations],
  limit: '20',
  spent: '7.5',
  remaining: '12.5',
  resetsAt: '2026-01-16T00:00:00.000Z',
};

function budgetsRoute({ readDb }: PolicyParts): Route {
  return defineRoute(
    {
      id: 'listBudgets',
      method: 'GET',
      path: '/account/budgets',
      tag,
      summary: 'List the budgets of the calling key',
      description: 'Its own budgets first, then those of the keys above it. A payment takes from all of them.',
      auth: 'key',
      scope: 'read',
      returns: {
        200: {
          description: 'The budgets',
          schema: z.object({ budgets: z.array(budgetState) }),
          example: { budgets: [exampleState] },
        },
      },
    },
    async ({ caller }) => ok({ budgets: (await listBudgets(readDb, caller)).map(describeBudget) }),
  );
}

const ruleAt = z.object({ key: z.string(), index: z.number().meta({ description: 'In its policy, from 0.' }) });

function simulateRoute(parts: PolicyParts): Route {
  return defineRoute(
    {
      id: 'simulatePolicy',
      method: 'POST',
      path: '/account/policy/simulate',
      tag,
      summary: 'Simulate a payment',
      tool: { name: 'check_budget', title: 'Check whether a payment is allowed', hints: reads },
      description:
        'Tells whether the calling key may make a payment, without making it. It needs the scope of the operation, too. The balance is not judged. A request that the endpoint would refuse for its input, its recipient or a limit is refused here in the same way. A call is judged as if it cost `maxAmount`, because only the seller knows its price: a lower price may fit into a budget that `maxAmount` exceeds, the rules judge it again, and an allow-list is checked when the seller has named its address. For an order, the shop is asked for its total, as before a purchase.',
      auth: 'key',
      scope: 'read',
      body: z.strictObject({
        operation: z.enum(operations, { error: `must be one of ${operations.join(', ')}` }),
        request: z.record(z.string(), z.unknown()).meta({
          description:
            'The body of the endpoint that makes the payment. For an invoice `{id}`, for a call `{url, maxAmount}`.',
        }),
      }),
      examples: { body: { operation: 'transfer', request: { to: 'PA-7K2M9QXD', amount: 3, currency: 'USDC' } } },
      returns: {
        200: {
          description: 'What would happen',
          schema: z.object({
            outcome: z.enum(['allow', 'ask', 'deny']),
            code: z.string().nullable().meta({ description: 'The code of the error that the payment would get.' }),
            rule: ruleAt.nullable().meta({
              description: 'The rule that decides. Null when no rule matches, or when no rule decides.',
            }),
            unmet: z
              .object({ rule: ruleAt, condition: z.enum(conditions) })
              .nullable()
              .meta({
                description:
                  'When no rule matches: the rule that lacks the fewest conditions, and the first condition that does not hold.',
              }),
            budgets: z.array(budgetState).meta({ description: 'As they would be afterwards.' }),
          }),
          example: {
            outcome: 'allow',
            code: null,
            rule: { key: exampleKey, index: 0 },
            unmet: null,
            budgets: [exampleState],
          },
        },
      },
      errors: parts.ways.flatMap(({ refusals }) => refusals),
    },
    async ({ caller, body: { operation, request } }) => {
      const way = parts.ways.find((one) => one.operation === operation);
      if (way === undefined) throw new Error(`no feature simulates ${operation}`);
      if (!caller.scopes.includes(way.scope)) throw scopeRequired(way.scope);
      const body = z.object({ request: way.body });
      const checked = validate('body', body, withoutNulls(body, { request })) as { readonly request: unknown };
      const { budgets, ...simulated } = await simulate(parts, caller, await way.read(caller, checked.request));
      return ok({ ...simulated, budgets: budgets.map(describeBudget) });
    },
  );
}
