import { decodeFunctionData, type Hex, isAddressEqual } from 'viem';
import { tokenAbi } from '../../chains/abi.ts';
import type { Networks } from '../../chains/network.ts';
import type { Database, Queryable } from '../../kernel/db/database.ts';
import { describeError } from '../../kernel/jobs/error-reporter.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { wakeSaga } from '../../kernel/sagas/wake-saga.ts';
import { type Amount, amountOf, toDecimalText } from '../../money/amount.ts';
import { type ChainId, chains } from '../../money/catalogue.ts';
import { type HouseWallet, listHouseWallets } from '../wallets/house-wallets.ts';
import type { UnknownTransaction, UnknownTransactions } from '../wallets/provider.ts';

export interface UnknownParts {
  readonly db: Database;
  readonly networks: Networks;
  /** Only with our own keys. */
  readonly unknownTransactions: UnknownTransactions | undefined;
}

type Say = (line: string) => void;

export async function showUnknown(parts: UnknownParts, say: Say): Promise<void> {
  const { db, networks } = parts;
  const unknown = ownOrRefuse(parts);
  let unseen = 0;
  for (const wallet of await listHouseWallets(db)) {
    const { chain, address } = wallet;
    // One silent chain must not hide the others.
    const trouble = networks.has(chain)
      ? await unknown.look(wallet).then(() => undefined, describeError)
      : 'its chain is not configured';
    if (trouble === undefined) continue;
    unseen++;
    say(`${chain} ${address}: ${trouble}`);
  }
  const found = await unknown.list();
  for (const one of found) {
    say(`${one.id}   ${describeUnknown(networks, one)}`);
    for (const { saga, sagaId, step } of await stepsHeldBy(db, one)) say(`    holds ${saga} ${sagaId}: ${step}`);
    const unsent = await unsentLike(parts, one);
    for (const { id, status } of unsent)
      say(
        `    may have paid withdrawal ${id}, which is ${status} and can be cancelled by its owner once you choose --unrelated`,
      );
    for (const { saga, sagaId } of await waitingLike(parts, one)) {
      if (unsent.every(({ id }) => id !== sagaId)) say(`    may have paid ${saga} ${sagaId}, which waits for tokens`);
    }
  }
  if (found.length > 0) {
    const waiting = await countUndecided(db);
    if (waiting > 0)
      say(`${waiting} arrivals at house wallets stay undecided until all of these transactions are explained.`);
    return;
  }
  say(
    unseen === 0
      ? 'This database knows every transaction of the house wallets.'
      : 'No unknown transaction was found, but not every wallet could be checked.',
  );
}

interface Explanation {
  readonly id: string;
  /** The saga that the transaction paid. */
  readonly paid?: string | undefined;
  readonly unrelated?: boolean | undefined;
}

/** The operator says what an unknown transaction was, and whatever waited for that continues. */
export async function explainUnknown(parts: UnknownParts, given: Explanation, say: Say): Promise<void> {
  const { db } = parts;
  const unknown = ownOrRefuse(parts);
  if ((given.paid === undefined) === (given.unrelated !== true)) {
    throw new Refusal('Give either --paid <saga> or --unrelated.');
  }
  const one = (await unknown.list()).find(({ id }) => id.toString() === given.id);
  if (one === undefined) throw new Refusal(`There is no unknown transaction ${given.id} to explain.`);
  const steps = await stepsHeldBy(db, one);
  if (given.paid === undefined) await unknown.dismiss(one.id);
  else {
    const isMeant = ({ sagaId }: HeldStep) => sagaId === given.paid;
    const held = steps.find(isMeant);
    const waiting = held === undefined ? (await waitingLike(parts, one)).find(isMeant) : undefined;
    const step = held ?? waiting;
    if (step === undefined) throw new Refusal(`${given.paid} does not wait for transaction ${given.id}.`);
    const wallet = waiting && (await giveWallet(db, one, waiting));
    await unknown.adopt(one.id, step.key, wallet);
    if (waiting !== undefined) steps.push(waiting);
  }
  for (const { saga, sagaId: id } of steps) await wakeSaga(db, { saga, id, lane: one.chain });
  say(
    given.paid === undefined
      ? `Transaction ${given.id} is marked as unrelated.`
      : `${given.paid} was paid by ${one.sent?.hash}.`,
  );
}

function ownOrRefuse({ unknownTransactions }: UnknownParts): UnknownTransactions {
  if (unknownTransactions !== undefined) return unknownTransactions;
  throw new Refusal('This command needs WALLET_PROVIDER=keys: Circle holds the keys and knows its own transactions.');
}

interface HeldStep {
  readonly key: string;
  readonly saga: string;
  readonly sagaId: string;
  readonly step: string;
}

async function stepsHeldBy(db: Queryable, { holds }: UnknownTransaction): Promise<HeldStep[]> {
  const { rows } = await db.query<HeldStep>(
    'SELECT id AS key, saga, saga_id, step FROM chain_steps WHERE id = ANY ($1::uuid[]) ORDER BY created_at',
    [holds],
  );
  return rows;
}

/**
 * Unsigned withdrawals of the same amount to the same address, which wait for tokens or are held. Only this search
 * shows that they may already be paid.
 */
async function unsentLike(
  { db, networks }: UnknownParts,
  { chain, sent }: UnknownTransaction,
): Promise<readonly { readonly id: string; readonly status: string }[]> {
  const paid = sent && paymentIn(networks, chain, sent);
  if (paid === undefined) return [];
  const { rows } = await db.query<{ id: string; status: string }>(
    `SELECT id, status FROM withdrawals
      WHERE finished_at IS NULL AND chain = $1 AND asset = $2 AND net = $3 AND lower(address) = lower($4)
        AND status IN ('queued', 'awaiting_liquidity', 'held', 'unwrapped') ORDER BY id LIMIT 100`,
    [chain, paid.amount.asset, paid.amount.atomic, paid.to],
  );
  return rows;
}

/** Steps that wait for tokens in the treasury and would make the same payment. */
async function waitingLike({ db, networks }: UnknownParts, { chain, sent }: UnknownTransaction): Promise<HeldStep[]> {
  const paid = sent && paymentIn(networks, chain, sent);
  if (paid === undefined) return [];
  const { rows } = await db.query<HeldStep>(
    `SELECT s.id AS key, s.saga, s.saga_id, s.step FROM chain_steps s JOIN chain_step_leaves l ON l.step_id = s.id
      WHERE s.state = 'waiting' AND s.chain = $1 AND l.asset = $2 AND l.atomic = $3 AND l.recipient = lower($4)
      ORDER BY s.created_at LIMIT 100`,
    [chain, paid.amount.asset, paid.amount.atomic, paid.to],
  );
  return rows;
}

/** The step leaves the queue with the wallet that paid it. */
async function giveWallet(
  db: Database,
  { chain, sender }: UnknownTransaction,
  { key }: HeldStep,
): Promise<HouseWallet> {
  const wallet = (await listHouseWallets(db)).find((one) => one.chain === chain && isAddressEqual(one.address, sender));
  if (wallet === undefined) throw new Refusal(`${sender} on ${chain} is not a house wallet.`);
  await db.transaction(async (tx) => {
    const given = await tx.query(
      "UPDATE chain_steps SET wallet_id = $2, state = 'ready' WHERE id = $1 AND state = 'waiting'",
      [key, wallet.id],
    );
    if (given.rowCount === 0)
      throw new Refusal('The step no longer waits for tokens. Run "paywright treasury unknown" again.');
    await tx.query('UPDATE chain_step_leaves SET wallet_id = $2 WHERE step_id = $1 AND wallet_id IS NULL', [
      key,
      wallet.id,
    ]);
  });
  return wallet;
}

async function countUndecided(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ count: number }>('SELECT count(*)::integer AS count FROM undecided_arrivals');
  return rows[0]?.count ?? 0;
}

function describeUnknown(networks: Networks, { chain, sender, nonce, sent }: UnknownTransaction): string {
  const where = `${chain} from ${sender}, nonce ${nonce}`;
  if (sent === undefined) return `${where}: no node knows the transaction, so every payment from this wallet waits`;
  const paid = paymentIn(networks, chain, sent);
  const did = paid
    ? `${toDecimalText(paid.amount)} ${paid.amount.asset} to ${paid.to}`
    : `called ${sent.data.slice(0, 10)} of ${sent.to}`;
  return `${where}: ${did}   ${sent.hash}`;
}

/** The payment that a transaction made, if it was one. */
function paymentIn(
  networks: Networks,
  chain: ChainId,
  { to, data, value }: NonNullable<UnknownTransaction['sent']>,
): { readonly to: Hex; readonly amount: Amount } | undefined {
  if (data === '0x') return { to, amount: amountOf(chains[chain].native, value) };
  const token = networks.get(chain)?.tokens.find(({ address }) => isAddressEqual(address, to));
  const transfer = token && decodeTransfer(data);
  return token && transfer && { to: transfer.to, amount: amountOf(token.asset, transfer.atomic) };
}

function decodeTransfer(data: Hex): { readonly to: Hex; readonly atomic: bigint } | undefined {
  try {
    const { functionName, args } = decodeFunctionData({ abi: tokenAbi, data });
    return functionName === 'transfer' ? { to: args[0], atomic: args[1] } : undefined;
  } catch {
    return undefined;
  }
}
