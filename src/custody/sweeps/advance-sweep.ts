import { getAddress, type Hex } from 'viem';
import { multicallAddress } from '../../chains/abi.ts';
import { encodeSubmission, type Fate, fateOf, readUsed, type SignedAuthorization } from '../../chains/authorization.ts';
import { type Network, tokenOf } from '../../chains/network.ts';
import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import { changeState } from '../../kernel/sagas/change-state.ts';
import { noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import { handleSaga, type SagaHandler, type SagaStep } from '../../kernel/sagas/run-saga.ts';
import { type ChainId, chains } from '../../money/catalogue.ts';
import type { SagaParts } from '../steps/chain-step.ts';
import { requireNetwork } from '../steps/chain-step.ts';
import { planStep } from '../steps/plan-step.ts';
import { settleStep } from '../steps/settle-step.ts';
import { type StepEnd, takeStep } from '../steps/take-step.ts';
import { houseWallet } from '../wallets/house-wallets.ts';
import type { DepositToken } from '../wallets/kept-chains.ts';
import { findCursor } from '../watch/chain-cursor.ts';
import { isOnChain } from '../watch/reorg.ts';
import { sweepSaga } from './sweep-saga.ts';

/** Deposits of several wallets, each with a signed authorization to move them to the treasury. */
interface Sweep {
  readonly id: string;
  readonly chain: ChainId;
  readonly asset: DepositToken['asset'];
  /** `sending` from the moment before the provider is first asked. */
  readonly status: 'signed' | 'sending' | 'complete' | 'failed';
  /** Always in the same order, because the provider must be asked for the same thing every time. */
  readonly items: readonly SweepItem[];
}

interface SweepItem extends SignedAuthorization {
  readonly settled: boolean;
}

/** Its one step on a chain. */
function submitStep(sweepId: string) {
  return { sagaId: sweepId, step: 'submit' } as const;
}

async function findSweep(db: Queryable, id: string): Promise<Sweep | undefined> {
  const { rows } = await db.query<SweepRow>(`${select} WHERE s.id = $1`, [id]);
  return rows[0] && toSweep(rows[0]);
}

export async function listOpenSweeps(db: Queryable, chain: ChainId): Promise<readonly Sweep[]> {
  const { rows } = await db.query<SweepRow>(`${select} WHERE s.chain = $1 AND s.finished_at IS NULL ORDER BY s.id`, [
    chain,
  ]);
  return rows.map(toSweep);
}

const select = `SELECT s.id, s.chain, s.asset, s.status, (
    SELECT json_agg(json_build_object('from', i.address, 'to', i.treasury, 'atomic', i.atomic::text,
        'nonce', i.nonce, 'validBefore', i.valid_before::text, 'signature', i.signature,
        'settled', i.moved IS NOT NULL) ORDER BY i.address COLLATE "C")
      FROM sweep_items i WHERE i.sweep_id = s.id) AS items
   FROM sweeps s`;

interface SweepRow extends Omit<Sweep, 'items'> {
  readonly items: readonly (Omit<SweepItem, 'atomic' | 'validBefore'> & { atomic: string; validBefore: string })[];
}

function toSweep(row: SweepRow): Sweep {
  return {
    ...row,
    items: row.items.map((item) => ({
      ...item,
      from: getAddress(item.from),
      to: getAddress(item.to),
      atomic: BigInt(item.atomic),
      validBefore: BigInt(item.validBefore),
    })),
  };
}

/** The gas wallet cannot pay for a sweep. The operator must fill it. */
class GasTankEmpty extends Error {
  override readonly name = 'GasTankEmpty';
}

/** Authorizations that expire sooner than this are not submitted. */
const leastSecondsLeft = 60n;

/** Polling interval while a sweep waits for its authorizations to expire. */
const waitingMs = 30_000;

export function sweepHandler(parts: SagaParts): SagaHandler {
  return handleSaga(sweepSaga, (id) => findSweep(parts.db, id), {
    signed: (sweep) => begin(parts, requireNetwork(parts.networks, sweep.chain), sweep),
    sending: (sweep) => send(parts, requireNetwork(parts.networks, sweep.chain), sweep),
  });
}

/** Signed: only we have the authorizations. From `sending` on the provider may have them too, and the gas wallet is fixed. */
async function begin(parts: SagaParts, network: Network, sweep: Sweep): Promise<SagaStep> {
  const { db, checkpoint = noCheckpoint } = parts;
  const { id, chain } = sweep;
  if (!(await isWorthSending(network, sweep))) return settle(parts, network, sweep, undefined);
  const gas = await houseWallet(db, 'gas', chain);
  await requireGas(network, gas.address, submission(network, sweep));
  await db.transaction(async (tx) => {
    const isFirst = await changeState(tx, sweepSaga, { id, from: 'signed', to: 'sending' });
    if (isFirst) await planStep(tx, { saga: sweepSaga.name, ...submitStep(id), chain, wallet: gas });
  });
  checkpoint('sweep.sending');
  return 'go_on';
}

async function send(parts: SagaParts, network: Network, sweep: Sweep): Promise<SagaStep> {
  const progress = await takeStep(parts, submitStep(sweep.id), (from) => ({
    from,
    contract: multicallAddress,
    data: submission(network, sweep),
  }));
  if (progress.state !== 'waiting') return settle(parts, network, sweep, progress);
  // Expired authorizations can be decided now, the others not yet.
  await settle(parts, network, sweep, 'under_way');
  return progress;
}

async function isWorthSending({ client }: Network, { items }: Sweep): Promise<boolean> {
  const { timestamp } = await client.getBlock({ blockTag: 'latest' });
  return items.every(({ validBefore }) => validBefore > timestamp + leastSecondsLeft);
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

/**
 * Reads the fate of each authorization as of the last block that the watcher has read, and records what is certain. `end` is the end of our
 * own transaction, undefined when it was never sent.
 */
async function settle(
  parts: SagaParts,
  network: Network,
  sweep: Sweep,
  end: StepEnd | 'under_way' | undefined,
): Promise<SagaStep> {
  const { db, ledger, checkpoint = noCheckpoint } = parts;
  const wait = { lookAgainInMs: network.pollMs, waitsFor: 'the chain to be read' };
  const cursor = await findCursor(db, network.id);
  if (cursor === undefined || !(await isOnChain(network.client, cursor))) return wait;
  const { timestamp: blockTime } = await network.client.getBlock({ blockNumber: cursor.number });
  const open = sweep.items.filter(({ settled }) => !settled);
  if (end === 'under_way' && open.every(({ validBefore }) => validBefore > blockTime)) return wait;

  const used = await readUsed(network, tokenAddress(network, sweep), open, cursor.number);
  const fates = open.map((item, index) => ({ item, fate: fateOf(item, { used: used[index] === true, blockTime }) }));
  const finished = end !== 'under_way' && fates.every(({ fate }) => fate !== 'open');
  checkpoint('sweep.judged');
  await db.transaction(async (tx) => {
    const { rows } = await tx.query('SELECT FROM sweeps WHERE id = $1 AND finished_at IS NULL FOR UPDATE', [sweep.id]);
    if (rows.length === 0) return;
    await writeFates(tx, sweep, fates);
    if (finished) await finish(tx, sweep);
    // A refused submission is retried while its authorizations are valid, so its step stays open.
    const isOver = end !== undefined && end !== 'under_way' && (finished || end.hash !== undefined);
    const gas = isOver ? ((await settleStep(tx, submitStep(sweep.id), end)) ?? []) : [];
    if (gas.length > 0) await ledger.postWithin(tx, gas);
  });
  checkpoint('sweep.settled');
  if (finished) return 'rest';
  if (end === 'under_way') return wait;
  await network.letTimePass(latest(open.map(({ validBefore }) => validBefore)));
  const refused = end?.state === 'failed' ? end.reason : undefined;
  return {
    lookAgainInMs: waitingMs,
    waitsFor: `its authorizations to expire${refused === undefined ? '' : `: ${refused}`}`,
    isTrouble: refused !== undefined,
  };
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
    `UPDATE sweeps SET finished_at = now(), updated_at = now(), status = CASE WHEN EXISTS (
        SELECT FROM sweep_items WHERE sweep_id = $1 AND moved) THEN 'complete' ELSE 'failed' END WHERE id = $1`,
    [id],
  );
}

function latest(times: readonly bigint[]): bigint {
  return times.reduce((last, time) => (time > last ? time : last), 0n);
}

function submission(network: Network, sweep: Sweep): Hex {
  return encodeSubmission(tokenAddress(network, sweep), sweep.items);
}

function tokenAddress(network: Network, { id, asset }: Sweep): Hex {
  const token = tokenOf(network, asset);
  if (token === undefined) throw new Error(`sweep ${id} is of ${asset}, which is not held on ${network.id}`);
  return token.address;
}
