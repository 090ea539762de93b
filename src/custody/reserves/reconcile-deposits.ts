import { type Hex, isAddressEqual } from 'viem';
import { findReceipt } from '../../chains/find-receipt.ts';
import { type Network, tokenOf } from '../../chains/network.ts';
import { transferIn } from '../../chains/token-transfer.ts';
import type { Database } from '../../kernel/db/database.ts';
import { inParallel } from '../../kernel/in-parallel.ts';
import { toPostingId } from '../../ledger/posting.ts';
import type { Asset, ChainId } from '../../money/catalogue.ts';
import { amountText } from './reconcile-books.ts';

const rowsAtOnce = 500;
const receiptsAtOnce = 8;

interface DepositRow {
  readonly id: string;
  readonly chain: ChainId;
  readonly txHash: Hex;
  readonly position: number;
  readonly address: Hex;
  readonly asset: Asset;
  readonly atomic: bigint;
  readonly transferId: string;
  readonly postingId: string | null;
  /** What the posting credited to the expected account. */
  readonly credited: bigint | null;
  /** Its posting is in a month that was archived: `paywright ledger verify-archive` proves it from the file. */
  readonly isArchived: boolean;
  /** The operator has reversed it. */
  readonly reversed: boolean;
}

/** Checks that every deposit on a chain was credited exactly, and is still on the chain where it was. */
export async function reconcileDeposits(db: Database, network: Network): Promise<string[]> {
  const findings: string[] = [];
  let after = '';
  for (;;) {
    const rows = await readDeposits(db, network.id, after);
    const last = rows.at(-1);
    if (last === undefined) return findings;
    const checked = await inParallel(rows, receiptsAtOnce, async (row) => [
      ...checkPosting(row),
      // A reversed deposit may be gone from the chain.
      ...(row.reversed ? [] : await checkReceipt(network, row)),
    ]);
    findings.push(...checked.flat());
    after = last.id;
  }
}

async function readDeposits(db: Database, chain: ChainId, after: string): Promise<DepositRow[]> {
  const { rows } = await db.query<DepositRow>(
    `SELECT d.id, d.chain, d.tx_hash, d.position, d.address, d.asset, d.atomic, d.transfer_id,
            coalesce(p.id, CASE WHEN r.posted_at < u.archived_until THEN r.posting_id END) AS posting_id,
            coalesce(r.posted_at < u.archived_until, false) AS is_archived, e.amount AS credited,
            EXISTS (SELECT FROM deposit_reversals r WHERE r.deposit_id = d.id) AS reversed
       FROM deposits d JOIN ledger.chains c ON c.id = d.chain JOIN ledger.assets a ON a.symbol = d.asset
       JOIN ledger.kinds k ON k.name = CASE WHEN d.account_id IS NULL THEN 'surplus'
                                        WHEN d.home_bound THEN 'held' ELSE 'available' END
       CROSS JOIN ledger.archived_until() u (archived_until)
       LEFT JOIN ledger.posting_references r ON r.reference = 'deposit:' || d.chain || ':' || d.tx_hash || ':' || d.position
       LEFT JOIN ledger.postings p ON p.id = r.posting_id AND p.posted_at = r.posted_at
       LEFT JOIN chain_step_arrivals x ON x.step_id = d.step_id AND x.asset = d.asset AND d.reclaimed_at IS NULL
       LEFT JOIN payment_claims y ON y.id = d.claim_id
       LEFT JOIN LATERAL (
         SELECT sum(e.amount) AS amount FROM ledger.entries e
          WHERE e.posting_id = p.id AND e.posted_at = p.posted_at AND e.account_id = ANY (ledger.slots_of(
            coalesce(x.account_id, y.arrival_account,
              (coalesce(d.account_id, 0) << 14) | (k.code << 8) | (c.code << 4) | a.code))) OFFSET 0) e ON true
      WHERE d.chain = $1 AND d.id > $2 ORDER BY d.id LIMIT $3`,
    [chain, after, rowsAtOnce],
  );
  return rows;
}

function checkPosting(row: DepositRow): string[] {
  const { postingId, transferId, credited, isArchived, asset, atomic } = row;
  if (postingId === null || toPostingId(postingId) !== transferId) return [`${describe(row)} has no posting.`];
  if (credited === atomic || isArchived) return [];
  return [`${describe(row)} was credited with ${amountText(asset, credited ?? 0n)}.`];
}

async function checkReceipt(network: Network, row: DepositRow): Promise<string[]> {
  const { txHash, position, address, asset, atomic } = row;
  const token = tokenOf(network, asset);
  if (token === undefined) return [`${describe(row)} is of a token that is not held there any more.`];
  const receipt = await findReceipt(network.client, txHash);
  if (receipt === undefined || receipt.status !== 'success') return [`${describe(row)} is not on the chain any more.`];
  const transfer = transferIn(receipt.logs[position], token);
  if (transfer === undefined || !isAddressEqual(transfer.to, address)) {
    return [`${describe(row)} is on the chain as something else.`];
  }
  if (transfer.atomic === atomic) return [];
  return [`${describe(row)} is on the chain with ${amountText(asset, transfer.atomic)}.`];
}

function describe({ id, chain, asset, atomic, txHash, position }: DepositRow): string {
  return `${chain}: deposit ${id} of ${amountText(asset, atomic)} (${txHash}, log ${position})`;
}
