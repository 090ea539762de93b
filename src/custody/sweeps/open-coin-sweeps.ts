import { BaseError, ContractFunctionRevertedError, type Hex } from 'viem';
import { tokenAbi } from '../../chains/abi.ts';
import { smaller } from '../../chains/gas-fee-ceiling.ts';
import type { Network, Token } from '../../chains/network.ts';
import { type Database, onlyRow, type Queryable } from '../../kernel/db/database.ts';
import { newId } from '../../kernel/ids/ids.ts';
import { noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import { wakeSaga } from '../../kernel/sagas/wake-saga.ts';
import type { Asset, ChainId, Coin } from '../../money/catalogue.ts';
import type { SagaParts } from '../steps/chain-step.ts';
import { houseWallet } from '../wallets/house-wallets.ts';
import { openWalletAt, type UserWallet } from '../wallets/user-wallets.ts';
import { coinSweepSaga } from './coin-sweep-saga.ts';
import { type ChosenWallet, chooseWallets, type OpenSweepOptions } from './open-sweep.ts';
import { recallSweeps } from './recall-sweeps.ts';

export type CoinToken = Token & { readonly asset: Coin };

export interface OpenCoinSweepOptions
  extends Pick<OpenSweepOptions, 'threshold' | 'mostWallets' | 'except' | 'onUnable'> {
  /** The amount that waiting steps need. Only the richest wallets that hold it together are swept. */
  readonly wanted?: bigint;
}

/**
 * Opens a sweep for each wallet with enough in it, the richest first. The row and its contents are one commit; no
 * provider is asked yet. Returns the number of sweeps.
 */
export async function openCoinSweeps(
  parts: SagaParts,
  network: Network,
  token: CoinToken,
  options: OpenCoinSweepOptions,
): Promise<number> {
  const { db, checkpoint = noCheckpoint } = parts;
  const { wanted } = options;
  const treasury = await houseWallet(db, 'treasury', network.id);
  const except = [...options.except, ...(await sweptNow(db, network.id))];
  const chosen = await chooseWallets(db, network, token, { ...options, except });
  let opened = 0;
  let brought = 0n;
  for (const wallet of chosen) {
    if (wanted !== undefined && brought >= wanted) break;
    const gasLimit = await gasToMove(network, token, wallet, treasury.address);
    const held = await openWalletAt(parts, wallet.address, network.id);
    if (gasLimit === undefined || held === undefined || held.provider !== parts.provider.name) {
      const recalled = gasLimit === undefined && (await recallSweeps(parts, network, token, [wallet.address]));
      if (recalled === false || !recalled.has(wallet.address)) options.onUnable(wallet.address);
      continue;
    }
    if (await writeDown(db, token, { wallet, held, treasury: treasury.address, gasLimit })) opened++;
    brought += wallet.atomic;
    checkpoint('coin_sweep.opened');
  }
  return opened;
}

/** Wallets with a transaction in progress: each has one at a time. */
async function sweptNow(db: Queryable, chain: ChainId): Promise<Hex[]> {
  const { rows } = await db.query<{ address: Hex }>(
    'SELECT address FROM coin_sweeps WHERE chain = $1 AND finished_at IS NULL',
    [chain],
  );
  return rows.map(({ address }) => address);
}

/** The amount of an asset that steps wait for and that is not on its way to the treasury yet. */
export async function wantedOf(db: Queryable, chain: ChainId, asset: Asset): Promise<bigint> {
  const { wanted } = onlyRow(
    await db.query<{ wanted: bigint }>(
      `SELECT (SELECT coalesce(sum(atomic), 0) FROM chain_step_leaves
                WHERE chain = $1 AND asset = $2 AND wallet_id IS NULL)
            - (SELECT coalesce(sum(atomic), 0) FROM coin_sweeps
                WHERE chain = $1 AND asset = $2 AND finished_at IS NULL) AS wanted`,
      [chain, asset],
    ),
  );
  return wanted;
}

/** Whether the newest sweeps wait for the provider to accept their request. */
export async function hasUnlent(db: Queryable, chain: ChainId): Promise<boolean> {
  const { rows } = await db.query(
    `SELECT FROM coin_sweeps w WHERE w.chain = $1 AND w.finished_at IS NULL AND NOT EXISTS (
       SELECT FROM chain_steps s WHERE s.saga_id = w.id AND (s.provider_ref IS NOT NULL OR s.settled_at IS NOT NULL))
      LIMIT 1`,
    [chain],
  );
  return rows.length > 0;
}

/** More than any transfer of our tokens uses. It bounds the gas that is lent. */
const mostGasToMove = 500_000n;

/** The gas limit of the transfer, above its estimate. Undefined if the token would refuse the transfer. */
async function gasToMove(
  { client }: Network,
  token: CoinToken,
  { address, atomic }: ChosenWallet,
  to: Hex,
): Promise<bigint | undefined> {
  try {
    const gas = await client.estimateContractGas({
      account: address,
      address: token.address,
      abi: tokenAbi,
      functionName: 'transfer',
      args: [to, atomic],
    });
    return smaller((gas * 3n) / 2n, mostGasToMove);
  } catch (error) {
    const reverted =
      error instanceof BaseError && error.walk((inner) => inner instanceof ContractFunctionRevertedError);
    if (reverted) return undefined;
    throw error;
  }
}

interface SweepToWrite {
  readonly wallet: ChosenWallet;
  readonly held: UserWallet;
  readonly treasury: Hex;
  readonly gasLimit: bigint;
}

/** False when another process was first. */
async function writeDown(
  db: Database,
  { asset }: CoinToken,
  { wallet, held, treasury, gasLimit }: SweepToWrite,
): Promise<boolean> {
  const id = newId('csw');
  const { chain } = held;
  return db.transaction(async (tx) => {
    const { rowCount } = await tx.query(
      `INSERT INTO coin_sweeps (id, chain, asset, wallet_id, address, treasury, atomic, gas_limit, status)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'lending') ON CONFLICT DO NOTHING`,
      [id, chain, asset, held.id, wallet.address, treasury, wallet.atomic, gasLimit],
    );
    if (rowCount === 0) return false;
    const taken = await tx.query(
      'UPDATE deposits SET sweep_id = $1 WHERE id = ANY ($2) AND sweep_id IS NULL AND swept_at IS NULL',
      [id, wallet.depositIds],
    );
    if (taken.rowCount !== wallet.depositIds.length) throw new Error('another process sweeps these deposits already');
    await wakeSaga(tx, { saga: coinSweepSaga.name, id, lane: chain });
    return true;
  });
}
