import { z } from 'zod';
import { defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import { assetIds, chainIds } from '../../money/catalogue.ts';
import { reserveErrors } from './errors.ts';
import type { Reserves } from './reserves.ts';

const chain = z.enum(chainIds);
const asset = z.enum(assetIds);
const snapshotId = z.string().min(1).max(100).optional();
const amount = z.string().meta({ description: 'Decimal text, exact to the last digit.' });
const hex = z.string().regex(/^[0-9a-f]+$/);

export function reserveRoutes(reserves: Reserves): Route[] {
  return [reservesRoute(reserves), proofRoute(reserves)];
}

const reserveRow = z.object({
  chain,
  asset,
  onChain: z.string().nullable().meta({ description: 'What our wallets hold at that block.' }),
  owed: z.string().meta({ description: 'What the ledger owes: to users, merchants and the house itself.' }),
  inFlight: z.string().nullable().meta({
    description:
      'What has left a balance and not yet our wallets, and what has come and is not credited yet; below zero what was credited in blocks after this one, or is owed to us.',
  }),
  difference: z.string().nullable().meta({ description: 'onChain less owed and inFlight: 0.' }),
  blockNumber: z.number().int().nullable(),
  unavailable: z.string().optional().meta({ description: 'Only when the chain cannot be asked: why.' }),
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
      summary: 'What we hold and what we owe',
      description:
        'For each chain and asset, at one block and one moment of the ledger; where a chain is reached through several hosts each is asked, and the least that one of them shows is told. The roots under `proof` hold everybody’s balance; GET /account/proof shows you yours.',
      auth: 'none',
      query: z.strictObject({
        snapshotId: snapshotId.meta({
          description: 'Shows the roots of an earlier snapshot. The newest when left out.',
        }),
      }),
      returns: {
        200: {
          description: 'At most a few seconds old',
          schema: z.object({
            reserves: z.array(reserveRow),
            at: z.iso.datetime(),
            proof: publishedProof.nullable().meta({ description: 'Null until the first snapshot is taken.' }),
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
      summary: 'The proof that your balance is part of what we owe',
      description:
        'Your balance is cut into parts, each a leaf of a tree whose root is published under GET /reserves. scripts/verify-proof.mjs checks the answer offline. It shows nothing of anybody else.',
      auth: 'key',
      scope: 'read',
      query: z.strictObject({
        chain: chain.optional(),
        asset: asset.optional(),
        snapshotId: snapshotId.meta({ description: 'An earlier snapshot, of the last day. The newest when left out.' }),
      }),
      examples: { query: { chain: 'MATIC', asset: 'USDC' } },
      returns: {
        200: {
          description: 'One proof for each chain and asset that you had something of',
          schema: z.object({
            snapshotId: z.string(),
            at: z.iso.datetime(),
            owner: z.string().meta({ description: 'Your handle. It is part of every leaf.' }),
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
