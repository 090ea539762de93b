import { randomBytes } from 'node:crypto';
import { BaseError, ContractFunctionRevertedError, getAddress, type Hex, type TypedDataDomain } from 'viem';
import { tokenAbi } from '../../chains/abi.ts';
import {
  type Authorization,
  readTokenDomain,
  type SignedAuthorization,
  toTypedData,
} from '../../chains/authorization.ts';
import type { Network } from '../../chains/network.ts';
import type { Database } from '../../kernel/db/database.ts';
import { lockUntilCommit } from '../../kernel/db/locks.ts';
import { newId } from '../../kernel/ids/ids.ts';
import { inParallel } from '../../kernel/in-parallel.ts';
import { noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import { wakeSaga } from '../../kernel/sagas/wake-saga.ts';
import type { ChainId } from '../../money/catalogue.ts';
import type { SagaParts } from '../steps/chain-step.ts';
import { houseWallet } from '../wallets/house-wallets.ts';
import type { DepositToken } from '../wallets/kept-chains.ts';
import { openWalletAt } from '../wallets/user-wallets.ts';
import { recallSweeps } from './recall-sweeps.ts';
import { sweepSaga } from './sweep-saga.ts';

/** Changes that are counted in one commit. */
const changesPerCommit = 5_000;

/**
 * Brings `unswept_wallets` up to date. Crediting a deposit only notes the wallet, and its sum is computed here: if the credit wrote
 * the sum itself, crediting and sweeping would wait for each other's locks.
 */
async function countUnswept(db: Database, chain: ChainId, asset: string): Promise<void> {
  // Usually there is no change, and then nothing is locked.
  const isNoted = async () => {
    const { rows } = await db.query('SELECT FROM unswept_changes WHERE chain = $1 AND asset = $2 LIMIT 1', [
      chain,
      asset,
    ]);
    return rows.length > 0;
  };
  while (await isNoted()) await countSome(db, chain, asset);
}

function countSome(db: Database, chain: ChainId, asset: string): Promise<void> {
  return db.transaction(async (tx) => {
    // One process at a time, so that an older sum does not overwrite a newer one.
    await lockUntilCommit(tx, { kind: 'unsweptWallets', of: `${chain} ${asset}` });
    const { rows } = await tx.query<{ address: string }>(
      `DELETE FROM unswept_changes WHERE id = ANY (ARRAY(
         SELECT id FROM unswept_changes WHERE chain = $1 AND asset = $2 ORDER BY id LIMIT $3)) RETURNING address`,
      [chain, asset, changesPerCommit],
    );
    const addresses = [...new Set(rows.map(({ address }) => address))];
    // Emptied wallets are an array and not a join: before the table has statistics, a join compares each with every wallet.
    // A separate statement sees everything that was committed before the notes were taken. Later commits have their own notes.
    await tx.query(
      `WITH counted AS (
         SELECT a.address, s.atomic FROM unnest($3::text[]) a (address)
          CROSS JOIN LATERAL (
            SELECT sum(atomic) AS atomic FROM deposits d
             WHERE d.chain = $1 AND d.asset = $2 AND d.address = a.address AND d.swept_at IS NULL
               AND d.sweep_id IS NULL AND d.account_id IS NOT NULL) s
       ), emptied AS (
         DELETE FROM unswept_wallets WHERE chain = $1 AND asset = $2
            AND address = ANY (ARRAY(SELECT address FROM counted WHERE atomic IS NULL))
       )
       INSERT INTO unswept_wallets (chain, asset, address, atomic)
       SELECT $1, $2, address, atomic FROM counted WHERE atomic IS NOT NULL
       ON CONFLICT (chain, asset, address) DO UPDATE SET atomic = excluded.atomic`,
      [chain, asset, addresses],
    );
  });
}

/** The wallets on chain $1 with at least $3 of asset $2, most first, but none of $5, and at most $4 of them. */
export const richestWallets = `SELECT address FROM unswept_wallets
  WHERE chain = $1 AND asset = $2 AND atomic >= $3 AND address <> ALL ($5::text[])
  ORDER BY atomic DESC, address LIMIT $4`;

export interface OpenSweepOptions {
  /** A wallet is swept when this much was deposited to it. */
  readonly threshold: bigint;
  /** The amount that waiting steps need. For it, the richest wallets are swept even if they are not worth their gas. */
  readonly wanted?: bigint;
  /** The amount from which a wallet is worth its gas; undefined while the price is unknown. */
  readonly worth?: bigint | undefined;
  readonly mostWallets: number;
  readonly validSeconds: bigint;
  /** Wallets to skip, because they could not pay recently. */
  readonly except: readonly Hex[];
  /** Called with each wallet that cannot pay. */
  readonly onUnable: (address: Hex) => void;
}

const callsAtOnce = 4;

/**
 * Chooses wallets, lets each sign an authorization for exactly what was deposited to it, and stores everything in one commit. No
 * signature leaves the process before that commit, so a crash before it leaves nothing behind. Returns the number of wallets.
 */
export async function openSweep(
  parts: SagaParts,
  network: Network,
  token: DepositToken,
  options: OpenSweepOptions,
): Promise<number> {
  const { db, checkpoint = noCheckpoint } = parts;
  const treasury = await houseWallet(db, 'treasury', network.id);
  const chosen = enough(await chooseWallets(db, network, token, options), options);
  if (chosen.length === 0) return 0;
  checkpoint('sweep.chosen');

  const unable: Hex[] = [];
  const able = await inParallel(chosen, callsAtOnce, async (wallet) => {
    if (await canPay(network, token, wallet, treasury.address)) return [wallet];
    unable.push(wallet.address);
    return [];
  });
  const recalled = await recallSweeps(parts, network, token, unable);
  for (const address of unable) if (!recalled.has(address)) options.onUnable(address);
  const [domain, { timestamp }] = await Promise.all([
    readTokenDomain(network, token.address),
    network.client.getBlock({ blockTag: 'latest' }),
  ]);
  const validBefore = timestamp + options.validSeconds;
  const signed = await inParallel(able.flat(), callsAtOnce, async ({ address, atomic, depositIds }) => {
    const nonce: Hex = `0x${randomBytes(32).toString('hex')}`;
    const authorization = { from: address, to: treasury.address, atomic, nonce, validBefore };
    const signature = await sign(parts, network, domain, authorization);
    if (signature === undefined) options.onUnable(address);
    return signature === undefined ? [] : [{ ...authorization, signature, depositIds }];
  });
  const items = signed.flat();
  if (items.length === 0) return 0;
  checkpoint('sweep.signed');
  await writeDown(db, network, token, items);
  checkpoint('sweep.written');
  return items.length;
}

/** The richest come first. Wallets that are not worth their gas are swept only for waiting steps, and no more than those need. */
export function enough<Wallet extends Pick<ChosenWallet, 'atomic'>>(
  wallets: readonly Wallet[],
  { wanted, worth }: Pick<OpenSweepOptions, 'wanted' | 'worth'>,
): readonly Wallet[] {
  if (wanted === undefined) return wallets;
  let brought = 0n;
  return wallets.filter(({ atomic }) => {
    const isTaken = brought < wanted || (worth !== undefined && atomic >= worth);
    if (isTaken) brought += atomic;
    return isTaken;
  });
}

export interface ChosenWallet {
  readonly address: Hex;
  readonly atomic: bigint;
  readonly depositIds: readonly string[];
}

/**
 * The richest wallets, found by an index however many there are. The exact amount is then read from their deposits.
 */
export async function chooseWallets(
  db: Database,
  { id: chain }: Pick<Network, 'id'>,
  { asset }: Pick<DepositToken, 'asset'>,
  { threshold, mostWallets, except }: Pick<OpenSweepOptions, 'threshold' | 'mostWallets' | 'except'>,
): Promise<ChosenWallet[]> {
  await countUnswept(db, chain, asset);
  const { rows } = await db.query<ChosenWallet>(
    `SELECT w.address, d.atomic, d.deposit_ids FROM (${richestWallets}) w
      CROSS JOIN LATERAL (
        SELECT sum(atomic) AS atomic, array_agg(id) AS deposit_ids FROM deposits d
         WHERE d.chain = $1 AND d.asset = $2 AND d.address = w.address AND d.swept_at IS NULL AND d.sweep_id IS NULL
           AND d.account_id IS NOT NULL) d
      WHERE d.atomic >= $3 ORDER BY d.atomic DESC, w.address`,
    [chain, asset, threshold, mostWallets, except],
  );
  return rows.map((row) => ({ ...row, address: getAddress(row.address) }));
}

/** Simulated without a signature, so that no useless one is made: the issuer may have blocked the wallet. */
async function canPay(network: Network, token: DepositToken, wallet: ChosenWallet, to: Hex): Promise<boolean> {
  try {
    await network.client.simulateContract({
      account: wallet.address,
      address: token.address,
      abi: tokenAbi,
      functionName: 'transfer',
      args: [to, wallet.atomic],
    });
    return true;
  } catch (error) {
    const reverted =
      error instanceof BaseError && error.walk((inner) => inner instanceof ContractFunctionRevertedError);
    if (reverted) return false;
    throw error;
  }
}

/** Undefined when our provider does not hold the key of that address. */
async function sign(
  parts: SagaParts,
  network: Network,
  domain: TypedDataDomain,
  authorization: Authorization,
): Promise<Hex | undefined> {
  const wallet = await openWalletAt(parts, authorization.from, network.id);
  if (wallet === undefined || wallet.provider !== parts.provider.name) return undefined;
  return parts.provider.signTypedData(wallet, toTypedData(domain, authorization));
}

interface ItemToWrite extends SignedAuthorization {
  readonly depositIds: readonly string[];
}

/** All or nothing: if another process has taken one of the deposits, nothing is stored and the signatures are discarded. */
async function writeDown(
  db: Database,
  { id: chain }: Network,
  { asset }: DepositToken,
  items: readonly ItemToWrite[],
): Promise<void> {
  const id = newId('swe');
  const depositIds = items.flatMap((item) => item.depositIds);
  await db.transaction(async (tx) => {
    await tx.query("INSERT INTO sweeps (id, chain, asset, status) VALUES ($1, $2, $3, 'signed')", [id, chain, asset]);
    await tx.query(
      `INSERT INTO sweep_items (sweep_id, address, treasury, atomic, nonce, valid_before, signature)
       SELECT $1, i.* FROM unnest($2::text[], $3::text[], $4::numeric[], $5::text[], $6::bigint[], $7::text[]) i`,
      [
        id,
        items.map(({ from }) => from),
        items.map(({ to }) => to),
        items.map(({ atomic }) => atomic),
        items.map(({ nonce }) => nonce),
        items.map(({ validBefore }) => validBefore),
        items.map(({ signature }) => signature),
      ],
    );
    const { rowCount } = await tx.query(
      'UPDATE deposits SET sweep_id = $1 WHERE id = ANY ($2) AND sweep_id IS NULL AND swept_at IS NULL',
      [id, depositIds],
    );
    if (rowCount !== depositIds.length) throw new Error('another process sweeps these deposits already');
    await wakeSaga(tx, { saga: sweepSaga.name, id, lane: chain });
  });
}
