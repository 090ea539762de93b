import { bridgeWay } from '../payments/bridge/way.ts';
import { invoiceWay } from '../payments/invoices/way.ts';
import { swapWay } from '../payments/swaps/way.ts';
import { createRecipientBook } from '../payments/transfers/recipient.ts';
import { transferWay } from '../payments/transfers/way.ts';
import { withdrawWay } from '../payments/withdrawals/way.ts';
import type { Way } from '../policies/way.ts';
import { orderWay } from '../shopping/orders/way.ts';
import { callWay } from '../x402/buy/way.ts';
import type { Parts } from './parts.ts';

/** Every way to pay. The endpoints use the same functions. */
export function waysToPay(parts: Parts): readonly Way[] {
  const { db, shops } = parts;
  return [
    transferWay(createRecipientBook(db)),
    invoiceWay(db),
    withdrawWay(parts),
    bridgeWay(parts),
    swapWay(parts),
    orderWay({ ...parts, merchants: shops.merchants }),
    callWay(parts),
  ];
}
