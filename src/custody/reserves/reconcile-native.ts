import { type Hex, isAddressEqual, TransactionNotFoundError } from 'viem';
import type { Network } from '../../chains/network.ts';
import type { Database } from '../../kernel/db/database.ts';
import { inParallel } from '../../kernel/in-parallel.ts';
import { type Asset, chains } from '../../money/catalogue.ts';
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
