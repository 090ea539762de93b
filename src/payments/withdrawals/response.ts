import { z } from 'zod';
import { amountValue, amountValueFormat, holding, toAmountValue } from '../../kernel/http/amount-field.ts';
import { chainIds, type Holding } from '../../money/catalogue.ts';
import { publicStatus, publicStatuses } from './saga.ts';
import type { Withdrawal } from './withdrawal.ts';

export const chainField = z.enum(chainIds);

export const withdrawalRecord = z.object({
  txId: z.string(),
  status: z.enum(publicStatuses),
  chain: chainField,
  address: z.string(),
  gross: amountValue.meta({
    description: `The amount taken from your balance. ${amountValueFormat}`,
  }),
  fee: amountValue,
  net: amountValue.meta({ description: 'The amount that arrives: `gross` minus `fee`.' }),
  currency: holding,
  txHash: z.string().nullable().meta({ description: 'The on-chain transaction, once it is sent.' }),
  error: z.string().nullable().meta({
    description:
      'Why the withdrawal is held or has failed. If it failed or was cancelled, the money is back in your balance. That is less `gasKept`.',
  }),
  gasKept: amountValue.meta({
    description:
      'The gas that was spent on native coin before you froze the key that asked for the withdrawal. Otherwise 0.',
  }),
  createdAt: z.iso.datetime(),
  finishedAt: z.iso.datetime().nullable(),
});

export const exampleWithdrawal = {
  txId: 'wdr_01kp3v2m8rfk2s6y0e6v9q4w1x',
  status: 'complete' as const,
  chain: 'MATIC' as const,
  address: '0x8ba1f109551bD432803012645Ac136ddd64DBA72',
  gross: 50,
  fee: 0.745,
  net: 49.255,
  currency: 'USDC' as const,
  txHash: '0x2f1c5c2b44f771e942a8506148e256f94f1a464babc938ae0690c6e34cd79190',
  error: null,
  gasKept: 0,
  createdAt: '2026-01-15T10:00:00.000Z',
  finishedAt: '2026-01-15T10:01:10.000Z',
};

export function describeWithdrawal(one: Withdrawal): z.input<typeof withdrawalRecord> {
  return {
    txId: one.id,
    status: publicStatus(one.status),
    chain: one.chain,
    address: one.address,
    gross: toAmountValue(one.gross),
    fee: toAmountValue(one.fee),
    net: toAmountValue(one.net),
    currency: one.gross.asset as Holding,
    txHash: one.txHash,
    error: one.error,
    gasKept: toAmountValue(one.gasKept),
    createdAt: one.createdAt.toISOString(),
    finishedAt: one.finishedAt?.toISOString() ?? null,
  };
}
