import type { Hex } from 'viem';
import type { ChainId } from '../chains/chains.ts';
import { type Network, tokenOf } from '../chains/network.ts';
import type { Database } from '../db/database.ts';
import { inParallel } from '../in-parallel.ts';
import type { Asset } from '../money/asset.ts';
import { findReceipt, hasPaid } from './ask-chain.ts';
import { amountText } from './reconcile-books.ts';

const rowsAtOnce = 500;
const receiptsAtOnce = 8;

interface WithdrawalRow {
  readonly id: string;
  readonly chain: ChainId;
  readonly asset: Asset;
  readonly address: Hex;
  readonly net: string;
  readonly status: 'complete' | 'failed';
  readonly tx_hash: Hex | null;
  /** Every transaction that may have paid it. */
  readonly hashes: Hex[];
}

/** Every finished withdrawal on a chain: was exactly net paid when it is complete, and nothing when it was given back? */
export async function reconcileWithdrawals(db: Database, network: Network): Promise<string[]> {
  const findings: string[] = [];
  let after = '';
  for (;;) {
    const { rows } = await db.query<WithdrawalRow>(
      `SELECT w.id, w.chain, w.asset, w.address, w.net, w.status, w.tx_hash,
              ARRAY(SELECT hash FROM key_transaction_attempts a WHERE a.transaction_id = w.idempotency_key
                    UNION SELECT w.tx_hash WHERE w.tx_hash IS NOT NULL) AS hashes
         FROM withdrawals w WHERE w.chain = $1 AND w.id > $2 AND w.finished_at IS NOT NULL ORDER BY w.id LIMIT $3`,
      [network.id, after, rowsAtOnce],
    );
    const last = rows.at(-1);
    if (last === undefined) return findings;
    const checked = await inParallel(rows, receiptsAtOnce, (row) => check(network, row));
    findings.push(...checked.flat());
    after = last.id;
  }
}

async function check(network: Network, row: WithdrawalRow): Promise<string[]> {
  const { asset, address, net, status, tx_hash, hashes } = row;
  const token = tokenOf(network, asset);
  if (token === undefined) return [`${describe(row)} is of a token that is not held there any more.`];
  const wanted = { address, net: BigInt(net) };
  if (status === 'complete') {
    if (tx_hash === null) return [`${describe(row)} is complete, but names no transaction.`];
    const receipt = await findReceipt(network, tx_hash);
    if (receipt === undefined) return [`${describe(row)} is complete, but ${tx_hash} is not on the chain.`];
    if (hasPaid(receipt, token, wanted)) return [];
    return [`${describe(row)} is complete, but ${tx_hash} does not pay exactly that.`];
  }
  for (const hash of hashes) {
    const receipt = await findReceipt(network, hash);
    if (receipt !== undefined && hasPaid(receipt, token, wanted)) {
      return [`${describe(row)} was given back, but ${hash} has paid it.`];
    }
  }
  return [];
}

function describe({ id, chain, asset, address, net }: WithdrawalRow): string {
  return `${chain}: withdrawal ${id} of ${amountText(asset, net)} to ${address}`;
}
