import { z } from 'zod';
import { accountErrors } from '../../accounts/errors.ts';
import { otp, withdrawalAddress } from '../../accounts/fields.ts';
import { type FactorParts, withOtp } from '../../accounts/second-factor/require-second-factor.ts';
import { type AllowedAddress, type AllowList, readAllowList } from '../../custody/limits/allow-list.ts';
import { findRoom, readDailyUse } from '../../custody/limits/hourly-limit.ts';
import type { OutgoingLimits } from '../../custody/limits/outgoing-limits.ts';
import { dailyCapErrors } from '../../kernel/daily-caps/count-today.ts';
import type { Database, Queryable } from '../../kernel/db/database.ts';
import { type Caller, defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import { amountOf, toJsonNumber } from '../../money/amount.ts';
import { coins, currencies } from '../../money/catalogue.ts';
import { listed } from '../../money/in-words.ts';
import {
  type AllowListParts,
  addAddress,
  type Owner,
  removeAddress,
  switchOff,
  switchOn,
} from './change-allow-list.ts';
import { withdrawalErrors } from './errors.ts';
import { exampleWithdrawal } from './response.ts';

const limits = z.object({
  limit: z
    .number()
    .nullable()
    .meta({ description: 'The limit on outgoing payments within 24 hours. Null if there is none.' }),
  used: z.number().meta({ description: 'The amount sent in the last 24 hours. Returned payments do not count.' }),
  left: z.number().nullable(),
  currency: z.literal('USDC'),
  moreAt: z.iso
    .datetime()
    .nullable()
    .meta({ description: 'When the oldest counted payment is 24 hours old and stops counting.' }),
});

export function limitsRoute({ db, brakes }: { readonly db: Queryable; readonly brakes: OutgoingLimits }): Route {
  return defineRoute(
    {
      id: 'getWithdrawalLimits',
      method: 'GET',
      path: '/account/withdrawal-limits',
      tag: 'Withdrawals',
      summary: 'Retrieve your withdrawal limits',
      description: `Withdrawals and payments to sellers (\`/nano/pay\`) of the last 24 hours count together. ${listed(currencies)} count at face value; ${listed(coins)} at their market value when they were withdrawn.`,
      auth: 'key',
      scope: 'read',
      returns: {
        200: {
          description: 'The limit, and how much of it is used and left',
          schema: limits,
          example: {
            limit: 25_000,
            used: 1_250.5,
            left: 23_749.5,
            currency: 'USDC',
            moreAt: '2026-01-16T10:00:00.000Z',
          },
        },
      },
    },
    async ({ caller }) => {
      const { limit, used, left } = await readDailyUse(db, brakes, caller.accountId);
      const more = await findRoom(db, caller.accountId, 1n);
      return ok({
        limit: limit === undefined ? null : toNumber(limit),
        used: toNumber(used),
        left: left === undefined ? null : toNumber(left),
        currency: 'USDC',
        moreAt: more?.toISOString() ?? null,
      });
    },
  );
}

function toNumber(value: bigint): number {
  return toJsonNumber(amountOf('USDC', value));
}

interface AddressParts extends FactorParts {
  readonly brakes: OutgoingLimits;
}

type SwitchParts = AllowListParts & FactorParts;

const tag = 'Withdrawals';

const allowedAddress = z.object({
  address: z.string(),
  addedAt: z.iso.datetime(),
  usableFrom: z.iso
    .datetime()
    .meta({ description: 'While the list is on, the address can receive payments only from then on.' }),
});

const exampleAllowed = {
  address: exampleWithdrawal.address,
  addedAt: '2026-01-15T10:00:00.000Z',
  usableFrom: '2026-01-16T10:00:00.000Z',
};

const allowList = z.object({
  enabled: z.boolean().meta({ description: 'Whether outgoing payments are restricted to these addresses.' }),
  offFrom: z.iso
    .datetime()
    .nullable()
    .meta({ description: 'When a requested switch-off takes effect. Null if none is pending.' }),
  addresses: z.array(allowedAddress),
});

const exampleList = { enabled: true, offFrom: null, addresses: [exampleAllowed] };

export function addressRoutes({ db, secrets, limiter, clock, brakes }: AddressParts): Route[] {
  const parts = { db, secrets, limiter, clock, delayHours: brakes.allowListDelayHours };
  return [listRoute(db), addRoute(parts), removeRoute(parts), switchRoute(parts)];
}

function listRoute(db: Database): Route {
  return defineRoute(
    {
      id: 'getWithdrawalAddresses',
      method: 'GET',
      path: '/account/withdrawal-addresses',
      tag,
      summary: 'Retrieve your allow-list',
      description:
        'While the allow-list is on, withdrawals and payments to sellers go only to addresses on it. The saved withdrawalAddress must be on the list as well.',
      auth: 'key',
      scope: 'read',
      returns: { 200: { description: 'The list, oldest address first', schema: allowList, example: exampleList } },
    },
    async ({ caller }) => ok(describeList(await readAllowList(db, caller.accountId))),
  );
}

function addRoute(parts: AllowListParts): Route {
  return defineRoute(
    {
      id: 'addWithdrawalAddress',
      method: 'POST',
      path: '/account/withdrawal-addresses',
      tag,
      summary: 'Add an address to your allow-list',
      description:
        'The address becomes usable after a delay, 24 hours unless the operator set another, whether or not the list is on. Adding an address again does not restart its delay. You receive an email.',
      auth: 'key',
      scope: 'manage',
      body: z.strictObject({ address: withdrawalAddress }),
      examples: { body: { address: exampleAllowed.address } },
      returns: { 200: { description: 'The address on the list', schema: allowedAddress, example: exampleAllowed } },
      errors: [
        withdrawalErrors.too_many_withdrawal_addresses,
        accountErrors.key_frozen,
        dailyCapErrors.daily_cap_reached,
      ],
    },
    async ({ caller, body, ip }) => ok(describe(await addAddress(parts, ownerOf(caller, ip), body.address))),
  );
}

function removeRoute(parts: AllowListParts): Route {
  return defineRoute(
    {
      id: 'removeWithdrawalAddress',
      method: 'DELETE',
      path: '/account/withdrawal-addresses/:address',
      tag,
      summary: 'Remove an address from your allow-list',
      description: 'Takes effect immediately. Withdrawals that were already requested continue unless you cancel them.',
      auth: 'key',
      scope: 'manage',
      params: z.strictObject({ address: withdrawalAddress }),
      examples: { params: { address: exampleAllowed.address } },
      returns: {
        200: {
          description: 'The address was removed',
          schema: z.object({ removed: z.literal(true) }),
          example: { removed: true },
        },
      },
      errors: [withdrawalErrors.withdrawal_address_not_found],
    },
    async ({ caller, params, ip }) => {
      await removeAddress(parts, ownerOf(caller, ip), params.address);
      return ok({ removed: true });
    },
  );
}

function switchRoute(parts: SwitchParts): Route {
  return defineRoute(
    {
      id: 'switchAllowList',
      method: 'PUT',
      path: '/account/withdrawal-addresses/allow-list',
      tag,
      summary: 'Switch your allow-list on or off',
      description:
        'Switching on takes effect immediately. Switching off takes effect after the same delay as a new address; switch it on again to cancel that. An account with a second factor needs `otp` to switch it off. You receive an email.',
      auth: 'key',
      scope: 'manage',
      body: z.strictObject({ enabled: z.boolean(), otp: otp.optional() }),
      examples: { body: { enabled: true } },
      returns: { 200: { description: 'The updated list', schema: allowList, example: exampleList } },
      errors: [
        accountErrors.key_frozen,
        accountErrors.otp_required,
        accountErrors.wrong_otp,
        accountErrors.too_many_attempts,
        dailyCapErrors.daily_cap_reached,
      ],
    },
    async ({ caller, body, ip }) => {
      const owner = ownerOf(caller, ip);
      const list = body.enabled
        ? await switchOn(parts, owner)
        : await withOtp(parts, { caller, ip, otp: body.otp }, (requireFactor) =>
            switchOff(parts, owner, requireFactor),
          );
      return ok(describeList(list));
    },
  );
}

function ownerOf({ accountId, keyId, tier }: Caller, ip: string): Owner {
  return { accountId, tier, by: { keyId, address: ip } };
}

function describeList({ isOn, offFrom, addresses }: AllowList): z.input<typeof allowList> {
  return { enabled: isOn, offFrom: offFrom?.toISOString() ?? null, addresses: addresses.map(describe) };
}

function describe({ address, addedAt, usableFrom }: AllowedAddress): z.input<typeof allowedAddress> {
  return { address, addedAt: addedAt.toISOString(), usableFrom: usableFrom.toISOString() };
}
