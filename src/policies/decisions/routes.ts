import { z } from 'zod';
import type { Queryable, ReadDatabase } from '../../kernel/db/database.ts';
import { defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import { idParameter } from '../../kernel/http/find-route.ts';
import { listRoute } from '../../kernel/http/list-route.ts';
import { dateTimeField, dateTimeFormats } from '../../kernel/http/read-moment.ts';
import { chainIds } from '../../money/catalogue.ts';
import { operations } from '../consent.ts';
import { decisionErrors } from './errors.ts';
import { exportChain, proveDecision } from './prove.ts';
import { listDecisions, type ReadDecision } from './read-decisions.ts';

export interface DecisionRouteParts {
  readonly db: Queryable;
  readonly readDb: ReadDatabase;
}

interface RouteSettings {
  /** How long until the next root is signed, in seconds. */
  readonly untilSealed: () => number;
}

export function decisionRoutes({ db, readDb }: DecisionRouteParts, settings: RouteSettings): Route[] {
  return [listOfDecisions(readDb), exportRoute(readDb), proofRoute(db, settings)];
}

const tag = 'Policies';
const hex = z.string();
const outcomes = ['allow', 'deny', 'ask'] as const;

const shared = {
  account: z.string(),
  amount: z.string(),
  approval: z.string().nullable().meta({ description: 'The approval of the owner that decided.' }),
  asset: z.string(),
  at: z.iso.datetime(),
  budgets: z
    .array(
      z.object({
        asset: z.string(),
        id: z.string(),
        key: z.string(),
        remainingAfter: z.string(),
        remainingBefore: z.string(),
        taken: z.string(),
      }),
    )
    .meta({
      description: 'What the payment took of each budget. When it was refused, the budgets that do not cover it.',
    }),
  code: z.string().nullable().meta({ description: 'Of the error. Null when the payment was allowed.' }),
  counterparty: z.string().nullable().meta({ description: 'The handle, address, shop or host that was to be paid.' }),
  id: z.string(),
  key: z.string().meta({ description: 'The key that asked.' }),
  keys: z.array(z.string()).meta({ description: 'From that key up to the root: all of them had to agree.' }),
  operation: z.enum(operations),
  outcome: z.enum(outcomes),
  policies: z
    .array(z.object({ key: z.string(), version: z.string() }))
    .meta({ description: 'The policies that were asked.' }),
  posting: z
    .string()
    .nullable()
    .meta({ description: 'The id of the payment in the ledger. Null when it was refused.' }),
};

const count = {
  description: 'How many payments the key was refused for this reason within a minute. The first is described.',
};

const shownDecision = z.object({
  ...shared,
  count: z.number().meta(count),
  rule: z.object({ key: z.string(), index: z.number() }).nullable().meta({ description: 'The rule that decided.' }),
  seq: z
    .number()
    .nullable()
    .meta({ description: 'Its number in the chain of the account. Null until it is chained, which is soon.' }),
});

const chainedRecord = z.object({
  ...shared,
  count: z.string().meta(count),
  rule: z.object({ index: z.string(), key: z.string() }).nullable(),
  seq: z.string(),
});

const exampleKey = 'key_01kp3v2m8rfk2s6y0e6v9q4w1x';
const exampleShared = {
  account: 'PA-7K2M9QXA',
  amount: '3',
  approval: null,
  asset: 'USDC',
  at: '2026-01-15T10:00:00.000Z',
  budgets: [
    { asset: 'USDC', id: 'daily', key: exampleKey, remainingAfter: '12.5', remainingBefore: '15.5', taken: '3' },
  ],
  code: null,
  counterparty: 'PA-7K2M9QXD',
  id: 'dec_01kp3v2m8rfk2s6y0e6v9q4w1x',
  key: exampleKey,
  keys: [exampleKey, 'key_01kp3v2m8rfk2s6y0e6v9q4w1a'],
  operation: 'transfer' as const,
  outcome: 'allow' as const,
  policies: [{ key: exampleKey, version: '5f2b1c0a9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a' }],
  posting: 'trf_01kp3v2m8rfk2s6y0e6v9q4w1x',
};

/** A date alone means the end of a day, so a period between two dates contains the last one. */
const moment = (what: string) => dateTimeField.optional().meta({ description: `${what} ${dateTimeFormats}` });

function listOfDecisions(readDb: ReadDatabase): Route {
  return listRoute({
    id: 'listDecisions',
    path: '/account/decisions',
    tag,
    summary: 'List the decisions of policies',
    description:
      'What the policies of the calling key, and of the keys below it, decided about payments: allowed ones as soon as they are posted, refused ones about a minute later, counted together per key, minute and reason, and at most 2,000 a day for an account. Payments that no policy was asked about are not recorded. Records are never changed or removed: GET /account/decisions/{id}/proof proves it.',
    name: 'decisions',
    item: shownDecision,
    example: { ...exampleShared, count: 1, rule: { key: exampleKey, index: 0 }, seq: 41 },
    filters: {
      outcome: z.enum(outcomes, { error: `must be one of ${outcomes.join(', ')}` }).optional(),
      key: idParameter.optional().meta({ description: 'Only decisions about payments of this key.' }),
      since: moment('Only decisions from then on.'),
      until: moment('Only decisions before.'),
    },
    cursorPrefix: 'dec',
    rows: ({ caller, outcome, key, since, until, limit, cursor }) =>
      listDecisions(readDb, { reader: caller, outcome, key, since, until, limit, cursor }),
    describe,
  });
}

function describe({ budgets, count: times, keys, policies, rule, seq, ...decision }: ReadDecision) {
  return {
    ...decision,
    budgets: [...budgets],
    count: Number(times),
    keys: [...keys],
    policies: [...policies],
    rule: rule && { key: rule.key, index: Number(rule.index) },
    seq: seq === null ? null : Number(seq),
  };
}

const signedRoot = z.object({
  at: z.string(),
  keyId: z.string(),
  number: z.string(),
  previousRoot: hex.nullable(),
  reservesRoot: hex.nullable(),
  reservesSnapshot: z.string().nullable(),
  root: hex,
  size: z.string(),
});

const seal = z.object({
  seq: z.string().meta({ description: 'The last record that the root covers.' }),
  place: z.string(),
  salt: hex,
  path: z.array(hex),
  root: signedRoot,
  signature: hex,
  anchor: z
    .object({ chain: z.enum(chainIds), txHash: z.string(), blockNumber: z.string() })
    .nullable()
    .meta({ description: 'The transaction whose data is the root and the reserves root. Null while there is none.' }),
});

const chain = {
  checksum: hex.meta({ description: 'SHA-256 of the canonical JSON of the other members but `entries`.' }),
  account: z.string(),
  keys: z.array(
    z.object({
      id: z.string(),
      algorithm: z.literal('Ed25519'),
      publicKey: hex,
      from: z.string(),
      until: z.string().nullable(),
    }),
  ),
  previous: z.object({ seq: z.string(), head: hex }).meta({ description: 'The record before the first entry.' }),
};

const entry = z.object({
  record: chainedRecord.optional().meta({ description: 'As it was hashed.' }),
  hash: hex.optional().meta({ description: 'Instead of a record that the calling key may not read.' }),
  head: hex,
});

const exampleHash = '5f2b1c0a9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a';

const exampleChain = {
  checksum: exampleHash,
  account: 'PA-7K2M9QXA',
  keys: [
    {
      id: '5f2b1c0a9d8e7f6a',
      algorithm: 'Ed25519' as const,
      publicKey: exampleHash,
      from: '2026-01-01T00:00:00.000Z',
      until: null,
    },
  ],
  previous: { seq: '40', head: exampleHash },
  seal: {
    seq: '42',
    place: '7',
    salt: exampleHash,
    path: [exampleHash],
    root: {
      at: '2026-01-15T10:17:00.000Z',
      keyId: '5f2b1c0a9d8e7f6a',
      number: '240',
      previousRoot: exampleHash,
      reservesRoot: exampleHash,
      reservesSnapshot: 'rsv_01kp3v2m8rfk2s6y0e6v9q4w1x',
      root: exampleHash,
      size: '8',
    },
    signature: exampleHash + exampleHash,
    anchor: { chain: 'MATIC' as const, txHash: `0x${exampleHash}`, blockNumber: '81000000' },
  },
  entries: [
    {
      record: { ...exampleShared, count: '1', rule: { index: '0', key: exampleKey }, seq: '41' },
      head: exampleHash,
    },
    { hash: exampleHash, head: exampleHash },
  ],
};

const verifying = 'scripts/verify-decisions.mjs verifies the response offline.';

function exportRoute(readDb: ReadDatabase): Route {
  return defineRoute(
    {
      id: 'exportDecisions',
      method: 'GET',
      path: '/account/decisions/export',
      tag,
      summary: 'Export the decisions of policies',
      description: `All decisions of the account from the first on, and the last signed root that covers them. Of decisions about keys that are neither the calling key nor below it there is only the hash. ${verifying}`,
      auth: 'key',
      scope: 'read',
      returns: {
        200: {
          description: 'The chain of the account',
          schema: z.object({ ...chain, seal: seal.nullable(), entries: z.array(entry) }),
          example: exampleChain,
          long: 'entries',
        },
      },
    },
    async ({ caller }) => {
      const { head, entries } = await exportChain(readDb, caller);
      return { status: 200, long: { head: head as never, items: entries as never } };
    },
  );
}

function proofRoute(db: Queryable, { untilSealed }: RouteSettings): Route {
  return defineRoute(
    {
      id: 'proveDecision',
      method: 'GET',
      path: '/account/decisions/:id/proof',
      tag,
      summary: 'Retrieve the proof of a decision',
      description: `Proves that a decision is recorded, and was not changed since a root was signed that covers it. A root is signed every hour. ${verifying}`,
      auth: 'key',
      scope: 'read',
      params: z.strictObject({ id: idParameter }),
      examples: { params: { id: exampleShared.id } },
      returns: {
        200: {
          description: 'The decision, the hashes of those that follow it, and the root',
          schema: z.object({ ...chain, seal, entries: z.array(entry) }),
          example: exampleChain,
        },
      },
      errors: [decisionErrors.decision_not_found, decisionErrors.decision_not_sealed],
    },
    async ({ caller, params: { id } }) =>
      ok((await proveDecision(db, caller, { id, retryAfter: untilSealed })) as never),
  );
}
