import { getAddress, type Hex } from 'viem';
import { type OpenStep, readOpenSteps } from '../../custody/reserves/open-steps.ts';
import { aheadOfCursor, readHouseAddresses } from '../../custody/reserves/read-position.ts';
import { readUncredited, type UncreditedArrival } from '../../custody/reserves/uncredited-arrivals.ts';
import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import { houseAccount } from '../../ledger/account-id.ts';
import type { Asset, ChainId } from '../../money/catalogue.ts';

/** What wallets should hold at the last block read, according to the ledger. Addresses are in lower case. */
export interface ExpectedHoldings {
  readonly blockNumber: bigint;
  readonly houseAddresses: readonly Hex[];
  /** House wallets plus user wallets that a sweep is emptying, before deducting what open steps took. */
  readonly house: ReadonlyMap<Asset, bigint>;
  /** A sweep may or may not have emptied these user wallets yet, so they count with the house. */
  readonly sweeping: ReadonlyMap<Asset, readonly Hex[]>;
  /** By `address/asset`: an upper bound. */
  readonly users: ReadonlyMap<string, bigint>;
  readonly openSteps: readonly OpenStep[];
  readonly doubted: readonly UncreditedArrival[];
}

/** Call it in a repeatable-read transaction. Undefined before the first block is read. */
export async function readExpected(
  tx: Transaction,
  chain: ChainId,
  { assets, users }: { readonly assets: readonly Asset[]; readonly users: readonly Hex[] },
): Promise<ExpectedHoldings | undefined> {
  const cursor = await tx.query<{ blockNumber: bigint }>('SELECT block_number FROM chain_cursors WHERE chain = $1', [
    chain,
  ]);
  const blockNumber = cursor.rows[0]?.blockNumber;
  if (blockNumber === undefined) return undefined;
  const unswept = await readUnswept(tx, chain, blockNumber);
  const custody = await readCustody(tx, chain, assets);
  const ahead = await readAhead(tx, chain);
  return {
    blockNumber,
    houseAddresses: await readHouseAddresses(tx),
    house: new Map(
      assets.map((asset) => [
        asset,
        (custody.get(asset) ?? 0n) + (ahead.get(asset) ?? 0n) - (unswept.resting.get(asset) ?? 0n),
      ]),
    ),
    sweeping: unswept.sweeping,
    users: await readUsers(tx, chain, { blockNumber, users }),
    openSteps: (await readOpenSteps(tx)).filter((step) => step.chain === chain),
    doubted: (await readUncredited(tx)).filter((arrival) => arrival.chain === chain),
  };
}

/** Custody balances are negative. */
async function readCustody(tx: Queryable, chain: ChainId, assets: readonly Asset[]): Promise<Map<Asset, bigint>> {
  const accounts = new Map(assets.map((asset) => [Number(houseAccount('custody', asset, chain)), asset]));
  const { rows } = await tx.query<{ id: bigint; balance: bigint }>(
    'SELECT id, balance FROM ledger.accounts WHERE id = ANY ($1)',
    [[...accounts.keys()]],
  );
  return new Map(rows.map(({ id, balance }) => [accounts.get(Number(id)) as Asset, -balance]));
}

async function readAhead(tx: Queryable, chain: ChainId): Promise<Map<Asset, bigint>> {
  const { rows } = await tx.query<{ asset: Asset; atomic: bigint }>(
    `SELECT asset, sum(atomic) AS atomic FROM (${aheadOfCursor}) ahead WHERE chain = $1 GROUP BY asset`,
    [chain],
  );
  return new Map(rows.map(({ asset, atomic }) => [asset, atomic]));
}

async function readUnswept(
  tx: Queryable,
  chain: ChainId,
  blockNumber: bigint,
): Promise<{ readonly resting: Map<Asset, bigint>; readonly sweeping: Map<Asset, readonly Hex[]> }> {
  const { rows } = await tx.query<{ asset: Asset; resting: bigint; sweeping: Hex[] | null }>(
    `SELECT asset, coalesce(sum(atomic) FILTER (WHERE NOT sweeping), 0) AS resting,
            array_agg(DISTINCT lower(address)) FILTER (WHERE sweeping) AS sweeping
       FROM (SELECT asset, address, atomic, bool_or(sweep_id IS NOT NULL) OVER (PARTITION BY asset, address) AS sweeping
               FROM deposits WHERE chain = $1 AND swept_at IS NULL AND account_id IS NOT NULL AND block_number <= $2) unswept
      GROUP BY asset`,
    [chain, blockNumber],
  );
  return {
    resting: new Map(rows.map(({ asset, resting }) => [asset, resting])),
    sweeping: new Map(rows.map(({ asset, sweeping }) => [asset, sweeping ?? []])),
  };
}

/** Unswept, held and reversed deposits. An upper bound, because a sweep may have taken some of them. */
async function readUsers(
  tx: Queryable,
  chain: ChainId,
  { blockNumber, users }: { readonly blockNumber: bigint; readonly users: readonly Hex[] },
): Promise<Map<string, bigint>> {
  const { rows } = await tx.query<{ address: Hex; asset: Asset; atomic: bigint }>(
    `SELECT lower(address) AS address, asset, sum(atomic) AS atomic FROM (
       SELECT address, asset, atomic FROM deposits
        WHERE chain = $1 AND address = ANY ($2) AND swept_at IS NULL AND block_number <= $3
       UNION ALL
       SELECT address, asset, atomic FROM held_deposits WHERE chain = $1 AND address = ANY ($2)
       UNION ALL
       SELECT d.address, d.asset, d.atomic FROM deposit_reversals r JOIN deposits d ON d.id = r.deposit_id
        WHERE d.chain = $1 AND d.address = ANY ($2)) known GROUP BY 1, 2`,
    [chain, users.map((address) => getAddress(address)), blockNumber],
  );
  return new Map(rows.map(({ address, asset, atomic }) => [`${address}/${asset}`, atomic]));
}
