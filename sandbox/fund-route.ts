import { setTimeout as sleep } from 'node:timers/promises';
import { BaseError, type Hex } from 'viem';
import { z } from 'zod';
import type { Database } from '../src/kernel/db/database.ts';
import { amountField, amountValue, holding, requireAmount, toAmountValue } from '../src/kernel/http/amount-field.ts';
import { defineRoute, ok, type Route } from '../src/kernel/http/define-route.ts';
import { httpErrors } from '../src/kernel/http/errors.ts';
import { claimKey } from '../src/ledger/idempotency.ts';
import { type Asset, chains as facts, homeChain } from '../src/money/catalogue.ts';
import { type Faucet, FaucetError } from './chains/faucet.ts';
import type { LocalChains } from './chains/local-chains.ts';
import type { Mint } from './chains/mint-book.ts';
import { type FaucetAsset, wrappedHomeCoin } from './chains/tokens.ts';

export interface FundParts {
  readonly db: Database;
  readonly chains: LocalChains;
  /** How long to wait for the deposit to be credited. */
  readonly creditedWithinMs?: number;
}

const lookEveryMs = 50;

export function fundRoute({ db, chains, creditedWithinMs = 20_000 }: FundParts): Route {
  return defineRoute(
    {
      id: 'fundSandboxAccount',
      method: 'POST',
      path: '/sandbox/fund',
      tag: 'Sandbox',
      summary: 'Add test money to your balance',
      description: 'Mints test money to your deposit address on Polygon, where it is credited like any other deposit.',
      auth: 'key',
      scope: 'pay',
      body: z.strictObject({
        amount: amountField.meta({
          description: 'A number or decimal string, with at most as many decimals as the currency has.',
        }),
        currency: holding.default('USDC'),
      }),
      examples: { body: { amount: 100, currency: 'USDC' } },
      idempotent: true,
      returns: {
        200: {
          description: 'The money is in your balance',
          schema: z.object({ txHash: z.string(), transferId: z.string(), amount: amountValue, currency: holding }),
          example: {
            txHash: '0x5a1f0b5d8c1f4f2e7b7f4e4f4b8c9f2a6d3e1c0b9a8f7e6d5c4b3a291807f6e5',
            transferId: 'trf_01kp3v2m8rfk2s6y0e6v9q4w1x',
            amount: 100,
            currency: 'USDC',
          },
        },
      },
      errors: [httpErrors.unavailable],
    },
    async ({ caller: { accountId }, body, idempotency, requestId }) => {
      const amount = requireAmount(body.currency, body.amount);
      const asset = asToken(amount.asset);
      const id = `fund ${accountId} ${idempotency?.key ?? requestId}`;
      const earlier = await chains.faucet.find(id);
      if (earlier !== undefined && (earlier.asset !== asset || earlier.atomic !== amount.atomic)) {
        throw httpErrors.idempotency_mismatch();
      }
      // A replay goes to the original address, even if the wallet was rotated since.
      const to = earlier?.to ?? (await depositAddress(db, accountId));
      // The mint book makes it idempotent; the key is claimed so that no other route accepts it.
      const scope = idempotency && { accountId, ...idempotency };
      if (scope !== undefined && !(await claimKey(db, scope))) throw httpErrors.idempotency_mismatch();
      const txHash = await mintOrRefuse(chains.faucet, { id, chain: homeChain, asset, to, atomic: amount.atomic });

      const answer = (transferId: string) =>
        ok({ txHash, transferId, amount: toAmountValue(amount), currency: body.currency });
      const before = earlier && (await findCredit(db, accountId, txHash));
      if (before !== undefined) return { ...answer(before), replayed: true };
      const deadline = performance.now() + creditedWithinMs;
      while (performance.now() < deadline) {
        const transferId = await findCredit(db, accountId, txHash);
        if (transferId !== undefined) return answer(transferId);
        await sleep(lookEveryMs);
      }
      throw httpErrors.unavailable(
        `The deposit was sent in transaction ${txHash} but is not credited yet. Check your balance, or send the same request with the same Idempotency-Key.`,
      );
    },
  );
}

/** The watcher does not see native coin, so the wrapped token is minted. */
function asToken(asset: Asset): FaucetAsset {
  return asset === facts[homeChain].native ? wrappedHomeCoin : asset;
}

async function depositAddress(db: Database, accountId: bigint): Promise<Hex> {
  const { rows } = await db.query<{ address: Hex }>(
    'SELECT address FROM wallets WHERE account_id = $1 AND chain = $2 AND retired_at IS NULL',
    [accountId, homeChain],
  );
  if (rows[0] === undefined) throw httpErrors.unavailable('Your wallet is not ready yet. Try again in a moment.');
  return rows[0].address;
}

async function findCredit(db: Database, accountId: bigint, txHash: Hex): Promise<string | undefined> {
  const { rows } = await db.query<{ transferId: string }>(
    'SELECT transfer_id FROM deposits WHERE chain = $1 AND tx_hash = $2 AND account_id = $3',
    [homeChain, txHash, accountId],
  );
  return rows[0]?.transferId;
}

const refusals: Readonly<Record<FaucetError['fault'], (message: string) => Error>> = {
  unknown_asset: (message) => httpErrors.invalid_request(`${message}.`, { errors: [{ path: 'currency', message }] }),
  other_mint: () => httpErrors.idempotency_mismatch(),
  refused: () =>
    httpErrors.invalid_request('The token contract refuses transfers to this address.', {
      errors: [{ path: 'address', message: 'cannot receive this token' }],
    }),
  not_mined: () =>
    httpErrors.unavailable('The transaction was sent but is not mined yet. Check the balance before you retry.'),
};

/** Mints, and translates failures into API errors. */
export async function mintOrRefuse(faucet: Faucet, mint: Mint): Promise<Hex> {
  try {
    return await faucet.mint(mint);
  } catch (error) {
    if (error instanceof FaucetError) throw refusals[error.fault](error.message);
    // The chains are starting again, or have moved to another process.
    if (error instanceof BaseError)
      throw httpErrors.unavailable('The local chain is unavailable right now. Try again.');
    throw error;
  }
}
