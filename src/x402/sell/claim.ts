import type { Hex } from 'viem';
import { fateOf, readUsed, type SignedAuthorization } from '../../chains/authorization.ts';
import { findPurpose } from '../../chains/find-use.ts';
import { type Network, tokenOf } from '../../chains/network.ts';
import { findCursor } from '../../custody/watch/chain-cursor.ts';
import { isOnChain } from '../../custody/watch/reorg.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { type Amount, amountOf, type Stored } from '../../money/amount.ts';
import type { Asset, ChainId } from '../../money/catalogue.ts';

/** The last block that the watcher has read. */
export interface ReadBlock {
  readonly number: bigint;
  /** In seconds since the epoch. */
  readonly time: bigint;
}

/** Undefined before the first read, and after a reorg until the chain is read again. */
export async function lastReadBlock(db: Queryable, network: Network): Promise<ReadBlock | undefined> {
  const cursor = await findCursor(db, network.id);
  if (cursor === undefined || !(await isOnChain(network.client, cursor))) return undefined;
  return { number: cursor.number, time: await timeOf(network, cursor.number) };
}

export async function timeOf({ client }: Network, blockNumber: bigint): Promise<bigint> {
  return (await client.getBlock({ blockNumber })).timestamp;
}

/**
 * The fate of a payment that has not arrived. Unlike our own wallets, a payer can cancel an authorization or sign
 * another one with the same nonce: `used_elsewhere`. A used payment may also still be waiting to be booked: `not_shown`
 * while no log shows what it was used for, and `never_shown` long after its expiry. Neither of these is the payer's
 * fault.
 */
export type ClaimFate = 'open' | 'lapsed' | 'used_elsewhere' | 'not_shown' | 'never_shown';

/** How long after its expiry a used payment without a log is still awaited. */
const shownWithinSeconds = 3_600n;

/** Tolerance for clock skew between us and the chain. */
const clocksDifferSeconds = 600n;

export async function readClaimFates(
  network: Network,
  asset: Asset,
  claims: readonly Claim[],
  { number, time: blockTime }: ReadBlock,
): Promise<readonly ClaimFate[]> {
  if (claims.length === 0) return [];
  const token = tokenAddress(network, asset);
  const authorizations = claims.map(({ authorization }) => authorization);
  const used = await readUsed(network, token, authorizations, number);
  return Promise.all(
    claims.map(async ({ authorization, claimedAt }, index) => {
      const fate = fateOf(authorization, { used: used[index] === true, blockTime });
      if (fate !== 'moved') return fate;
      const since = BigInt(Math.floor(claimedAt.getTime() / 1_000)) - clocksDifferSeconds;
      const purpose = await findPurpose(network, token, authorization, { lastBlock: number, since });
      if (purpose === 'another') return 'used_elsewhere';
      return blockTime < authorization.validBefore + shownWithinSeconds ? 'not_shown' : 'never_shown';
    }),
  );
}

export function tokenAddress(network: Network, asset: Asset): Hex {
  const token = tokenOf(network, asset);
  if (token === undefined) throw new Error(`${asset} is not held on ${network.id}`);
  return token.address;
}

export interface Claim {
  readonly id: string;
  readonly chain: ChainId;
  readonly token: Hex;
  readonly amount: Amount;
  readonly authorization: SignedAuthorization;
  readonly resource: string;
  readonly fingerprint: Buffer;
  readonly identifier: string | null;
  readonly prepaid: boolean;
  readonly clearsDebt: boolean;
  readonly leased: boolean;
  readonly answer: unknown;
  readonly settlementId: string | null;
  /** `txHash` brought the payment; `pendingHash` is the transaction that should bring it. */
  readonly txHash: Hex | null;
  readonly pendingHash: Hex | null;
  readonly claimedAt: Date;
  readonly servedAt: Date | null;
  readonly arrivedAt: Date | null;
  readonly writtenOffAt: Date | null;
  readonly lapsedAt: Date | null;
}

export async function findClaim(db: Queryable, id: string): Promise<Claim | undefined> {
  return (await selectClaims(db, 'WHERE c.id = $1', [id]))[0];
}

export async function findClaims(db: Queryable, ids: readonly string[]): Promise<readonly Claim[]> {
  return ids.length === 0 ? [] : selectClaims(db, 'WHERE c.id = ANY ($1) ORDER BY c.id COLLATE "C"', [ids]);
}

/** By the payer's identifier, otherwise by the nonce, which is used only once. */
export async function findClaimOf(
  db: Queryable,
  { chain, token }: { readonly chain: ChainId; readonly token: Hex },
  {
    from,
    nonce,
    identifier,
  }: Pick<SignedAuthorization, 'from' | 'nonce'> & { readonly identifier: string | undefined },
): Promise<Claim | undefined> {
  const [claim] = await selectClaims(
    db,
    `WHERE c.chain = $1 AND c.token = lower($2) AND c.payer = lower($3) AND (c.nonce = $4 OR c.identifier = $5)
      ORDER BY c.identifier IS NOT DISTINCT FROM $5 DESC LIMIT 1`,
    [chain, token, from, nonce, identifier ?? null],
  );
  return claim;
}

/** In a fixed order, because the provider must get the identical request every time. */
export async function claimsOfSettlement(db: Queryable, settlementId: string): Promise<readonly Claim[]> {
  return selectClaims(db, 'WHERE c.settlement_id = $1 ORDER BY c.id COLLATE "C"', [settlementId]);
}

type ClaimRow = Stored<Omit<Claim, 'authorization'>, 'amount'> & Required<Omit<SignedAuthorization, 'atomic'>>;

async function selectClaims(db: Queryable, where: string, values: readonly unknown[]): Promise<Claim[]> {
  const { rows } = await db.query<ClaimRow>(
    `SELECT c.id, c.chain, c.token, c.asset, c.payer AS "from", c.nonce, c.pay_to AS "to", c.atomic AS amount, c.valid_after,
        c.valid_before, c.signature, c.resource, c.fingerprint, c.identifier, c.prepaid, c.clears_debt,
        coalesce(c.leased_until > clock_timestamp(), false) AS leased, c.answer, c.settlement_id, c.tx_hash,
        coalesce(c.tx_hash, (SELECT s.hash FROM chain_steps s WHERE s.saga_id = c.settlement_id AND s.step = 'submit'))
          AS pending_hash, c.claimed_at, c.served_at, c.arrived_at, c.written_off_at, c.lapsed_at
      FROM payment_claims c ${where}`,
    values,
  );
  return rows.map(({ asset, amount, from, to, nonce, validAfter, validBefore, signature, ...row }) => ({
    ...row,
    amount: amountOf(asset, amount),
    authorization: { from, to, atomic: amount, nonce, validAfter, validBefore, signature },
  }));
}
