import type { Hex } from 'viem';
import { multicallAddress } from '../chains/abi.ts';
import { chains } from '../chains/chains.ts';
import { type Network, tokenOf } from '../chains/network.ts';
import { noCheckpoint } from '../checkpoint.ts';
import { onlyRow, type Queryable, type Transaction } from '../db/database.ts';
import { gasSpent } from '../ledger/gas-posting.ts';
import { findHouseWalletById, type HouseWallet, houseWallet } from '../wallets/house-wallets.ts';
import { ProviderError, type TransactionReport } from '../wallets/provider.ts';
import { encodeSubmission, type Fate, judge, readUsed } from './authorization.ts';
import { findCursor } from './chain-cursor.ts';
import { isOnChain } from './reorganisation.ts';
import type { SweepParts } from './sweep-parts.ts';
import type { Sweep, SweepItem } from './sweep-row.ts';

/** The gas wallet cannot pay for a sweep: the operator has to fill it. */
class GasTankEmpty extends Error {
  override readonly name = 'GasTankEmpty';
}

/** What a step came to: finished, waiting for the chain, or waiting for an authorization's time to run out. */
export type SweepProgress = 'done' | 'pending' | 'waiting_for_end';

/** Authorizations with less time than this are not worth sending any more. */
const leastSecondsLeft = 60n;

/** One step. It may be taken any number of times, by any process, with the same result. */
export async function advanceSweep(parts: SweepParts, network: Network, sweep: Sweep): Promise<SweepProgress> {
  const { checkpoint = noCheckpoint } = parts;
  if (sweep.status === 'signed' && !(await isWorthSending(network, sweep))) {
    // The provider was never asked, so there is nothing to wait for but the end of the authorizations.
    return settle(parts, network, sweep, { asked: false });
  }
  let ref = sweep.providerRef;
  if (ref === null) {
    const sent = await send(parts, network, sweep);
    if ('refused' in sent) return giveUp(parts, network, sweep, sent.refused);
    ref = sent.ref;
  }
  const report = await parts.provider.lookUp(network.id, ref);
  await noteHash(parts.db, sweep, report.hash);
  if (report.state !== 'pending') checkpoint('sweep.confirmed');
  return settle(parts, network, sweep, { asked: true, report });
}

/** Nothing was and will be sent; still the authorizations were shown to the provider, and must come to their end. */
async function giveUp(
  parts: SweepParts,
  network: Network,
  sweep: Sweep,
  refusal: ProviderError,
): Promise<SweepProgress> {
  const progress = await settle(parts, network, sweep, { asked: false });
  if (progress !== 'done') throw refusal;
  return progress;
}

async function isWorthSending({ client }: Network, { items }: Sweep): Promise<boolean> {
  const { timestamp } = await client.getBlock({ blockTag: 'latest' });
  return items.every(({ validBefore }) => validBefore > timestamp + leastSecondsLeft);
}

/** Hands the sweep over to the provider, unless it refuses for good. */
async function send(
  parts: SweepParts,
  network: Network,
  sweep: Sweep,
): Promise<{ readonly ref: string } | { readonly refused: ProviderError }> {
  const { db, provider, checkpoint = noCheckpoint } = parts;
  const data = encodeSubmission(tokenAddress(network, sweep), sweep.items);
  const gas = await chooseGasWallet(parts, network, sweep, data);
  const call = { idempotencyKey: sweep.idempotencyKey, from: gas, contract: multicallAddress, data } as const;
  try {
    const ref = await provider.execute(call);
    checkpoint('sweep.taken');
    await db.query('UPDATE sweeps SET provider_ref = $2 WHERE id = $1', [sweep.id, ref]);
    checkpoint('sweep.sent');
    return { ref };
  } catch (error) {
    // Under another transaction's key nothing can be said about ours.
    if (!(error instanceof ProviderError) || error.retryable || error.code === 'idempotency_mismatch') throw error;
    return { refused: error };
  }
}

/**
 * Written before the provider is asked: from here on it may have taken the sweep, whatever becomes of us, and it is that
 * wallet's transaction even when a rotation has put another one in its place.
 */
async function chooseGasWallet(
  { db, checkpoint = noCheckpoint }: SweepParts,
  network: Network,
  { id, status, gasWalletId }: Sweep,
  data: Hex,
): Promise<HouseWallet> {
  let chosen = gasWalletId;
  if (status === 'signed' || chosen === null) {
    const current = await houseWallet(db, 'gas', network.id);
    await requireGas(network, current.address, data);
    const { gas_wallet_id } = onlyRow(
      await db.query<{ gas_wallet_id: string }>(
        `UPDATE sweeps SET status = 'sending', gas_wallet_id = coalesce(gas_wallet_id, $2) WHERE id = $1
         RETURNING gas_wallet_id`,
        [id, current.id],
      ),
    );
    chosen = gas_wallet_id;
    checkpoint('sweep.sending');
  }
  const wallet = await findHouseWalletById(db, chosen);
  if (wallet === undefined) throw new Error(`sweep ${id} is paid by a wallet that is not there`);
  return wallet;
}

async function requireGas({ id, client }: Network, gasWallet: Hex, data: Hex): Promise<void> {
  const [gas, { maxFeePerGas }, balance] = await Promise.all([
    client.estimateGas({ account: gasWallet, to: multicallAddress, data }),
    client.estimateFeesPerGas(),
    client.getBalance({ address: gasWallet }),
  ]);
  if (balance < gas * maxFeePerGas) {
    throw new GasTankEmpty(`the gas wallet ${gasWallet} on ${id} has too little ${chains[id].native} to sweep`);
  }
}

type Sending = { readonly asked: false } | { readonly asked: true; readonly report: TransactionReport };

/** Looks what has become of each authorization in the last block that was read, and writes down what is certain. */
async function settle(parts: SweepParts, network: Network, sweep: Sweep, sending: Sending): Promise<SweepProgress> {
  const { db, ledger, checkpoint = noCheckpoint } = parts;
  const cursor = await findCursor(db, network.id);
  if (cursor === undefined || !(await isOnChain(network.client, cursor))) return 'pending';
  const isFinal = !sending.asked || hasEnded(sending.report, cursor.number);
  const { timestamp: blockTime } = await network.client.getBlock({ blockNumber: cursor.number });
  const open = sweep.items.filter(({ settled }) => !settled);
  // While it is under way nothing can be said of its authorizations before their time is over.
  if (!isFinal && open.every(({ validBefore }) => validBefore > blockTime)) return 'pending';

  const used = await readUsed(network, tokenAddress(network, sweep), open, cursor.number);
  const fates = open.map((item, index) => ({ item, fate: judge(item, { used: used[index] === true, blockTime }) }));
  const finished = isFinal && fates.every(({ fate }) => fate !== 'open');
  checkpoint('sweep.judged');
  await db.transaction(async (tx) => {
    const { rows } = await tx.query('SELECT FROM sweeps WHERE id = $1 AND finished_at IS NULL FOR UPDATE', [sweep.id]);
    if (rows.length === 0) return;
    await writeFates(tx, sweep, fates);
    if (finished) await finish(tx, sweep);
    if (!isFinal || !sending.asked) return;
    const { hash, gasCost } = sending.report as Exclude<TransactionReport, { state: 'pending' }>;
    if (hash === undefined) return;
    const gas = gasSpent({ chain: network.id, native: chains[network.id].native, hash, cost: gasCost });
    if (gas.length > 0) await ledger.postWithin(tx, gas);
  });
  checkpoint('sweep.settled');
  if (finished) return 'done';
  return isFinal ? 'waiting_for_end' : 'pending';
}

/** Final, and in a block that was read: what the chain says of it will not change. */
function hasEnded(report: TransactionReport, readUpTo: bigint): boolean {
  if (report.state === 'pending') return false;
  return report.state === 'failed' || report.blockNumber <= readUpTo;
}

async function writeFates(
  tx: Transaction,
  { id }: Sweep,
  fates: readonly { readonly item: SweepItem; readonly fate: Fate }[],
): Promise<void> {
  const addresses = (wanted: Fate) => fates.filter(({ fate }) => fate === wanted).map(({ item }) => item.from);
  const [moved, lapsed] = [addresses('moved'), addresses('lapsed')];
  await tx.query(
    `UPDATE sweep_items SET moved = address = ANY ($2) WHERE sweep_id = $1 AND moved IS NULL AND address = ANY ($3)`,
    [id, moved, [...moved, ...lapsed]],
  );
  await tx.query(
    'UPDATE deposits SET swept_at = now() WHERE sweep_id = $1 AND address = ANY ($2) AND swept_at IS NULL',
    [id, moved],
  );
  await tx.query(
    'UPDATE deposits SET sweep_id = NULL WHERE sweep_id = $1 AND address = ANY ($2) AND swept_at IS NULL',
    [id, lapsed],
  );
}

async function finish(tx: Transaction, { id }: Sweep): Promise<void> {
  await tx.query(
    `UPDATE sweeps SET finished_at = now(), status = CASE WHEN EXISTS (
        SELECT FROM sweep_items WHERE sweep_id = $1 AND moved) THEN 'complete' ELSE 'failed' END WHERE id = $1`,
    [id],
  );
}

async function noteHash(db: Queryable, { id }: Sweep, hash: Hex | undefined): Promise<void> {
  if (hash === undefined) return;
  await db.query('UPDATE sweeps SET tx_hash = $2 WHERE id = $1 AND tx_hash IS DISTINCT FROM $2', [id, hash]);
}

function tokenAddress(network: Network, { id, asset }: Sweep): Hex {
  const token = tokenOf(network, asset);
  if (token === undefined) throw new Error(`sweep ${id} is of ${asset}, which is not held on ${network.id}`);
  return token.address;
}
