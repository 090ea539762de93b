import type { Hex } from 'viem';
import { judge, readUsed } from '../../chains/authorization.ts';
import { findPurpose } from '../../chains/find-use.ts';
import { type Network, tokenOf } from '../../chains/network.ts';
import { findCursor } from '../../custody/watch/chain-cursor.ts';
import { isOnChain } from '../../custody/watch/reorganisation.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import type { Asset } from '../../money/catalogue.ts';
import type { Claim } from './claim.ts';

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

export async function judgeClaims(
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
      const fate = judge(authorization, { used: used[index] === true, blockTime });
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
