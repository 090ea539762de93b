import { z } from 'zod';
import { defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import { defineErrors } from '../../kernel/http/problem.ts';
import { assetIds, chainIds } from '../../money/catalogue.ts';
import type { Reserves } from './reserves.ts';

const reserveErrors = defineErrors({
  snapshot_not_found: {
    status: 404,
    title: 'Snapshot not found',
    detail:
      'The snapshot does not exist, or its leaves are older than a day and no longer kept. Omit snapshotId to get the newest snapshot.',
  },
  proof_not_ready: {
    status: 503,
    title: 'Proof not ready',
    detail: 'The first snapshot is being taken. Try again in a moment.',
  },
});

const chain = z.enum(chainIds);
const asset = z.enum(assetIds);
const snapshotId = z.string().min(1).max(100).optional();
const amount = z.string().meta({ description: 'An exact decimal string.' });
const hex = z.string().regex(/^[0-9a-f]+$/);

export function reserveRoutes(reserves: Reserves): Route[] {
  return [reservesRoute(reserves), proofRoute(reserves)];
}

const reserveRow = z.object({
  chain,
  asset,
  onChain: z.string().nullable().meta({ description: 'The balance of our wallets at that block.' }),
  owed: z.string().meta({ description: 'What the ledger owes to users, merchants and the service itself.' }),
  inFlight: z.string().nullable().meta({
    description:
      'Money taken from a balance that has not left our wallets yet, and deposits that are not credited yet. Negative for deposits credited from later blocks and for amounts owed to the service.',
  }),
  difference: z.string().nullable().meta({ description: '`onChain` minus `owed` minus `inFlight`. It should be 0.' }),
  blockNumber: z.number().int().nullable(),
  unavailable: z.string().optional().meta({ description: 'Only if the chain is unavailable: the reason.' }),
});

const publishedProof = z.object({
  snapshotId: z.string(),
  at: z.iso.datetime(),
  roots: z.array(z.object({ chain, asset, root: hex, total: amount })),
});

const exampleRoot = { chain: 'MATIC' as const, asset: 'USDC' as const, root: '9f'.repeat(32), total: '1250.5' };
const exampleSnapshot = { snapshotId: 'rsv_01kp3v2m8rfk2s6y0e6v9q4w1x', at: '2026-01-02T03:07:00.123Z' };

function reservesRoute(reserves: Reserves): Route {
  return defineRoute(
    {
      id: 'getReserves',
      method: 'GET',
      path: '/reserves',
      tag: 'Reserves',
      summary: 'Retrieve the reserves',
      description:
        'What the service holds and owes for each chain and asset, at one block and one moment of the ledger. If several nodes serve a chain, all are asked and the lowest balance is reported. The roots under `proof` commit to every user’s balance; GET /account/proof proves yours.',
      auth: 'none',
      query: z.strictObject({
        snapshotId: snapshotId.meta({
          description: 'Returns the roots of an earlier snapshot. Defaults to the newest.',
        }),
      }),
      returns: {
        200: {
          description: 'At most a few seconds old',
          schema: z.object({
            reserves: z.array(reserveRow),
            at: z.iso.datetime(),
            proof: publishedProof.nullable().meta({ description: 'Null until the first snapshot exists.' }),
          }),
          example: {
            reserves: [
              {
                chain: 'MATIC',
                asset: 'USDC',
                onChain: '1300.5',
                owed: '1250.5',
                inFlight: '50',
                difference: '0',
                blockNumber: 71_250_118,
              },
            ],
            at: '2026-01-02T03:12:30.456Z',
            proof: { ...exampleSnapshot, roots: [exampleRoot] },
          },
        },
      },
      errors: [reserveErrors.snapshot_not_found],
    },
    async ({ query }) => {
      const [report, proof] = await Promise.all([reserves.report(), reserves.published(query.snapshotId)]);
      if (proof === null && query.snapshotId !== undefined) throw reserveErrors.snapshot_not_found();
      return ok({ ...report, proof });
    },
  );
}

const openLeaf = z.object({
  index: z.number().int(),
  amount,
  nonce: hex,
  ownerSalt: hex,
  branch: z.array(z.object({ hash: hex, sum: amount, side: z.enum(['left', 'right']) })),
});

function proofRoute(reserves: Reserves): Route {
  return defineRoute(
    {
      id: 'getAccountProof',
      method: 'GET',
      path: '/account/proof',
      tag: 'Reserves',
      summary: 'Retrieve the proof of your balance',
      description:
        'Proves that your balance is part of what the service owes. Your balance is split into parts, each a leaf of a Merkle sum tree whose root is published under GET /reserves. scripts/verify-proof.mjs verifies the response offline. The proof reveals nothing about other accounts.',
      auth: 'key',
      scope: 'read',
      query: z.strictObject({
        chain: chain.optional(),
        asset: asset.optional(),
        snapshotId: snapshotId.meta({ description: 'An earlier snapshot of the last day. Defaults to the newest.' }),
      }),
      examples: { query: { chain: 'MATIC', asset: 'USDC' } },
      returns: {
        200: {
          description: 'One proof for each chain and asset that you held',
          schema: z.object({
            snapshotId: z.string(),
            at: z.iso.datetime(),
            owner: z.string().meta({ description: 'Your handle, which is part of every leaf.' }),
            proofs: z.array(
              z.object({ chain, asset, balance: amount, root: hex, total: amount, leaves: z.array(openLeaf) }),
            ),
          }),
          example: {
            ...exampleSnapshot,
            owner: 'PA-7K2M9QXA',
            proofs: [
              {
                ...exampleRoot,
                balance: '49.25',
                leaves: [
                  {
                    index: 90,
                    amount: '49.25',
                    nonce: '3c'.repeat(16),
                    ownerSalt: 'a1'.repeat(16),
                    branch: [{ hash: '5e'.repeat(32), sum: '1201.25', side: 'right' }],
                  },
                ],
              },
            ],
          },
        },
      },
      errors: Object.values(reserveErrors),
    },
    async ({ caller, query }) => {
      const { accountId, handle } = caller;
      const proof = await reserves.prove({ accountId, handle, ...query });
      if (proof !== undefined) return ok(proof);
      if (query.snapshotId !== undefined) throw reserveErrors.snapshot_not_found();
      throw reserveErrors.proof_not_ready(undefined, { headers: { 'Retry-After': '5' } });
    },
  );
}
