import { type Hex, isAddressEqual, TransactionNotFoundError, type TransactionReceipt } from 'viem';
import { readUsed } from '../../chains/authorization.ts';
import { findReceipt } from '../../chains/find-receipt.ts';
import { hasUsed } from '../../chains/find-use.ts';
import { type Network, type Token, tokenOf } from '../../chains/network.ts';
import { transferIn } from '../../chains/token-transfer.ts';
import type { Database } from '../../kernel/db/database.ts';
import { inParallel } from '../../kernel/in-parallel.ts';
import { type Asset, chains } from '../../money/catalogue.ts';
import type { ChainStep } from '../steps/chain-step.ts';
import { hashesOf, isUndone, takenIn } from './open-steps.ts';
import { amountText } from './reconcile-books.ts';

const transactionsAtOnce = 8;

interface PaidRow {
  readonly id: string;
  readonly asset: Asset;
  readonly net: bigint;
  readonly address: Hex;
  readonly hash: Hex | null;
}

/** Withdrawals paid in native coin emit no token event, so the transaction itself is checked. */
export async function reconcileNative(db: Database, network: Network): Promise<string[]> {
  const { rows } = await db.query<PaidRow>(
    `SELECT w.id, w.asset, w.net, w.address, s.hash FROM withdrawals w
       LEFT JOIN chain_steps s ON s.saga_id = w.id AND s.step = 'pay'
      WHERE w.chain = $1 AND w.asset = $2 AND w.status = 'complete' ORDER BY w.id`,
    [network.id, chains[network.id].native],
  );
  const checked = await inParallel(rows, transactionsAtOnce, async (row) => {
    if (await hasPaid(network, row)) return [];
    const what = `withdrawal ${row.id} of ${amountText(row.asset, row.net)} to ${row.address}`;
    return [`${network.id}: ${what} is complete, but ${row.hash ?? 'no transaction'} does not pay exactly that.`];
  });
  return checked.flat();
}

async function hasPaid({ client }: Network, { hash, address, net }: PaidRow): Promise<boolean> {
  if (hash === null) return false;
  try {
    const [{ to, value }, { status }] = await Promise.all([
      client.getTransaction({ hash }),
      client.getTransactionReceipt({ hash }),
    ]);
    return status === 'success' && to !== null && isAddressEqual(to, address) && value === net;
  } catch (error) {
    if (error instanceof TransactionNotFoundError) return false;
    throw error;
  }
}

const rowsAtOnce = 500;
const receiptsAtOnce = 8;

interface StepRow extends Pick<ChainStep, 'id' | 'saga' | 'sagaId' | 'step' | 'chain' | 'hash'> {
  readonly wallet: Hex;
  readonly asset: Asset;
  readonly atomic: bigint;
  readonly recipient: Hex | null;
  readonly state: 'confirmed' | 'failed';
  /** Every transaction that it may have become. */
  readonly hashes: Hex[];
  /** Only for a signed authorization, which others submit. */
  readonly nonce: Hex | null;
}

/** Checks that every confirmed step on a chain took exactly its amount, and every failed one nothing. */
export async function reconcileSteps(db: Database, network: Network): Promise<string[]> {
  const findings: string[] = [];
  let after = { id: '00000000-0000-0000-0000-000000000000', asset: '' };
  for (;;) {
    const { rows } = await db.query<StepRow>(
      `SELECT s.id, s.saga, s.saga_id, s.step, s.chain, w.address AS wallet, l.asset, l.atomic, l.recipient, s.hash,
              l.authorization_nonce AS nonce,
              CASE WHEN ${isUndone('s')} THEN 'failed' ELSE s.state END AS state,
              ${hashesOf('s')} AS hashes
         FROM chain_steps s JOIN chain_step_leaves l ON l.step_id = s.id JOIN house_wallets w ON w.id = s.wallet_id
        WHERE s.chain = $1 AND (s.id, l.asset) > ($2, $4) AND s.settled_at IS NOT NULL ORDER BY s.id, l.asset LIMIT $3`,
      [network.id, after.id, rowsAtOnce, after.asset],
    );
    const last = rows.at(-1);
    if (last === undefined) return findings;
    const checked = await inParallel(rows, receiptsAtOnce, (row) => check(network, row));
    findings.push(...checked.flat());
    after = last;
  }
}

async function check(network: Network, row: StepRow): Promise<string[]> {
  const { asset, state, hash, hashes, nonce } = row;
  const token = tokenOf(network, asset);
  if (token === undefined) return [`${describe(row)} is of a token that is not held there any more.`];
  if (nonce !== null) return checkAuthorized(network, token, { ...row, nonce });
  if (state === 'confirmed') {
    if (hash === null) return [`${describe(row)} is complete, but names no transaction.`];
    const receipt = await findReceipt(network.client, hash);
    if (receipt === undefined) return [`${describe(row)} is complete, but ${hash} is not on the chain.`];
    if (hasTaken(receipt, token, row)) return [];
    return [`${describe(row)} is complete, but ${hash} does not pay exactly that.`];
  }
  for (const one of hashes) {
    const receipt = await findReceipt(network.client, one);
    if (receipt !== undefined && hasTaken(receipt, token, row)) {
      return [`${describe(row)} was given back, but ${one} has paid it.`];
    }
  }
  return [];
}

/**
 * The submitter may bundle several authorizations, so the transaction proves nothing: the token knows each by its
 * nonce.
 */
async function checkAuthorized(
  network: Network,
  token: Token,
  row: StepRow & { readonly nonce: Hex },
): Promise<string[]> {
  const { wallet: from, nonce, state, hash } = row;
  const blockNumber = await network.client.getBlockNumber({ cacheTime: 0 });
  const [used] = await readUsed(network, token.address, [{ from, nonce }], blockNumber);
  if (state === 'failed') return used === true ? [`${describe(row)} was given back, but its signature was used.`] : [];
  if (used !== true) return [`${describe(row)} is complete, but its signature was not used.`];
  const receipt = hash === null ? undefined : await findReceipt(network.client, hash);
  return receipt !== undefined && hasUsed(receipt, token, { from, nonce })
    ? []
    : [`${describe(row)} is complete, but ${hash ?? 'no transaction'} has not used its signature.`];
}

/** Whether a transaction took exactly this amount from the step's wallet, for its recipient. */
function hasTaken({ status, logs }: TransactionReceipt, token: Token, { wallet, recipient, atomic }: StepRow): boolean {
  if (status !== 'success' || takenIn(logs, token, wallet) !== atomic) return false;
  if (recipient === null) return true;
  return logs.some((log) => {
    const transfer = transferIn(log, token);
    return transfer !== undefined && isAddressEqual(transfer.to, recipient) && transfer.atomic === atomic;
  });
}

function describe({ saga, sagaId, step, chain, asset, recipient, atomic }: StepRow): string {
  const to = recipient === null ? ` (${step})` : ` to ${recipient}`;
  return `${chain}: ${saga} ${sagaId} of ${amountText(asset, atomic)}${to}`;
}
