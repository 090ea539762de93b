import { parseEther } from 'viem';
import { expect, it } from 'vitest';
import type { Posted } from '../ledger/posting.ts';
import { amountOf } from '../money/amount.ts';
import { transferEvents } from '../payments/transfers/transfer-posting.ts';
import { withdrawalEvents } from '../payments/withdrawals/withdrawal.ts';
import { buildBody } from './payload.ts';

const posting: Posted = {
  id: 'trf_01kp3v2m8rfk2s6y0e6v9q4w1x',
  postedAt: new Date('2026-01-15T10:00:00.000Z'),
  type: 'transfer',
  amount: amountOf('USDC', 50_000_000n),
  fee: amountOf('USDC', 750_000n),
  senderId: 1n,
  recipientId: 2n,
  description: null,
  reference: null,
  details: null,
};
const event = { id: 'evt_1' as const, accountId: 1n, createdAt: posting.postedAt, data: null };
const types = [...transferEvents, ...withdrawalEvents, { name: 'deposit.received' }];
const nobody = () => undefined;

it('tells of a payment by its two sides', () => {
  const names = new Map([
    [1n, { handle: 'PA-00000001', name: 'Ada' }],
    [2n, { handle: 'PA-00000002', name: 'Bob' }],
  ]);
  const body = buildBody({ ...event, type: 'payment.sent', posting }, types, (id) => names.get(id ?? 0n));
  expect(JSON.parse(body)).toEqual({
    id: 'evt_1',
    type: 'payment.sent',
    createdAt: '2026-01-15T10:00:00.000Z',
    data: {
      transferId: posting.id,
      amount: 50,
      fee: 0.75,
      recipientAmount: 49.25,
      currency: 'USDC',
      sender: { handle: 'PA-00000001', name: 'Ada' },
      recipient: { handle: 'PA-00000002', name: 'Bob' },
    },
  });
});

it('adds what a posting says of itself', () => {
  const details = { withdrawalId: 'wdr_1', txHash: '0x1' };
  const body = buildBody({ ...event, type: 'withdrawal.completed', posting: { ...posting, details } }, types, nobody);
  expect(JSON.parse(body).data).toMatchObject({ amount: 50, fee: 0.75, net: 49.25, ...details });
});

it('gives data that came without a posting as it is', () => {
  const data = { invoiceId: 'inv_1', amount: 5 };
  expect(
    JSON.parse(buildBody({ ...event, type: 'invoice.created', posting: undefined, data }, types, nobody)).data,
  ).toEqual(data);
});

it('writes an amount that no number holds as text, rather than rounding it or giving up', () => {
  const amount = amountOf('USDC', 12_345_678_901_234_567_890_123n);
  const body = buildBody({ ...event, type: 'deposit.received', posting: { ...posting, amount } }, types, nobody);
  expect(JSON.parse(body).data.amount).toBe('12345678901234567.890123');
});

it.each(['0.5', '1.000000000000000001'])('writes every amount of a coin as text, also %s', (text) => {
  const amount = amountOf('ETH', parseEther(text));
  const fee = amountOf('ETH', 1n);
  const body = buildBody(
    { ...event, type: 'withdrawal.completed', posting: { ...posting, amount, fee } },
    types,
    nobody,
  );
  expect(JSON.parse(body).data).toMatchObject({ amount: text, fee: '0.000000000000000001', currency: 'ETH' });
});

it('tells of an event that another release has recorded, as well as it can', () => {
  const details = { parcelId: 'par_1' };
  const body = buildBody({ ...event, type: 'parcel.sent', posting: { ...posting, details } }, types, nobody);
  expect(JSON.parse(body).data).toEqual({
    transferId: posting.id,
    amount: 50,
    currency: 'USDC',
    fee: 0.75,
    ...details,
  });
});
