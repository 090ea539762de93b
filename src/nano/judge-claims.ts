import type { Hex } from 'viem';
import { type Fate, judge, readUsed } from '../chains/authorization.ts';
import { type Network, tokenOf } from '../chains/network.ts';
import type { Queryable } from '../db/database.ts';
import { findCursor } from '../deposits/chain-cursor.ts';
import { isOnChain } from '../deposits/reorganisation.ts';
import type { Asset } from '../money/asset.ts';
import type { Claim } from './claim.ts';

/** The last block that our books have seen. */
export interface ReadBlock {
  readonly number: bigint;
  /** In seconds since the epoch. */
  readonly time: bigint;
}

/** Undefined while the chain has not been read, or has to be read again. */
export async function lastReadBlock(db: Queryable, network: Network): Promise<ReadBlock | undefined> {
  const cursor = await findCursor(db, network.id);
  if (cursor === undefined || !(await isOnChain(network.client, cursor))) return undefined;
  return { number: cursor.number, time: await timeOf(network, cursor.number) };
}

export async function timeOf({ client }: Network, blockNumber: bigint): Promise<bigint> {
  return (await client.getBlock({ blockNumber })).timestamp;
}

/** What has become of payments that have not arrived, as of a block. Unlike our own wallets a payer can cancel an authorization. */
export async function judgeClaims(
  network: Network,
  asset: Asset,
  claims: readonly Claim[],
  { number, time: blockTime }: ReadBlock,
): Promise<readonly Fate[]> {
  if (claims.length === 0) return [];
  const authorizations = claims.map(({ authorization }) => authorization);
  const used = await readUsed(network, tokenAddress(network, asset), authorizations, number);
  return authorizations.map((one, index) => judge(one, { used: used[index] === true, blockTime }));
}

export function tokenAddress(network: Network, asset: Asset): Hex {
  const token = tokenOf(network, asset);
  if (token === undefined) throw new Error(`${asset} is not held on ${network.id}`);
  return token.address;
}
