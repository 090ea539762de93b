import type { Command } from 'commander';
import type { Database } from '../../kernel/db/database.ts';
import { createLogger } from '../../kernel/log/logger.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { toDecimalText } from '../../money/amount.ts';
import { findOrder, heldFor, type Order, type OrderParts, type OrderRow, selectOrder, toOrder } from './order.ts';
import { captureOrder, releaseOrder } from './settle-order.ts';

export type OrderCommandParts = Pick<OrderParts, 'db' | 'ledger'>;

type WithLedger = (work: (parts: OrderCommandParts) => Promise<void>) => Promise<void>;
type Say = (line: string) => void;

export function addOrderCommands(program: Command, withLedger: WithLedger, say: Say): void {
  const logger = createLogger('silent');
  const orders = program.command('orders').description('list open orders, and settle those whose shop does not answer');

  orders
    .command('list')
    .description('list all open orders, oldest first')
    .action(() =>
      withLedger(async ({ db }) => {
        const { rows } = await db.query<OrderRow>(
          `${selectOrder} WHERE o.finished_at IS NULL ORDER BY o.id LIMIT 1000`,
        );
        for (const row of rows) say(describe(toOrder(row)));
        if (rows.length === 0) say('No order is open.');
      }),
    );

  orders
    .command('restored')
    .description(
      'after a restore from a backup: refund no open order before its shop is asked, because the shop may have accepted it since',
    )
    .action(() =>
      withLedger(async ({ db }) => {
        const { rowCount } = await db.query(
          "UPDATE orders SET restored_at = clock_timestamp() WHERE status = 'placed' AND restored_at IS NULL",
        );
        say(`Open orders: ${rowCount ?? 0}. Each shop is asked before its buyer is refunded.`);
      }),
    );

  orders
    .command('release <id>')
    .description('return the money to the buyer; only if the shop has certainly not accepted the order')
    .action((id: string) =>
      withLedger(async (parts) => {
        const order = await openOrRefuse(parts.db, id);
        const ending = { status: 'failed', code: 'refused', reason: 'The operator cancelled the order.' } as const;
        await releaseOrder({ ...parts, logger }, order, ending, 'the shop said so');
        say(await outcomeOf(parts.db, id));
      }),
    );

  orders
    .command('capture <id>')
    .description('pay the shop; only if it has certainly accepted the order')
    .action((id: string) =>
      withLedger(async (parts) => {
        const order = await openOrRefuse(parts.db, id);
        await captureOrder({ ...parts, logger }, order, { state: 'accepted' }, 'of the operator');
        say(await outcomeOf(parts.db, id));
      }),
    );
}

async function openOrRefuse(db: Database, id: string): Promise<Order> {
  const order = await findOrder(db, id);
  if (order === undefined) throw new Refusal(`There is no order ${id}.`);
  if (order.status !== 'placed') throw new Refusal(`${id} is already ${order.status}.`);
  return order;
}

async function outcomeOf(db: Database, id: string): Promise<string> {
  return `${id} is ${(await findOrder(db, id))?.status}.`;
}

function describe(order: Order): string {
  const { id, domain, product, asset, createdAt } = order;
  return `${id}  ${toDecimalText(heldFor(order))} ${asset}  ${product.title} at ${domain}, since ${createdAt.toISOString()}`;
}
