import { expect, it } from 'vitest';
import { type CreateTransferInput, Paywright, PaywrightError, type WebhookEvent } from './index.js';

/** Read by tsc only: `npm run check` fails if one of these lines no longer means what it says. */
async function typed(paywright: Paywright, event: WebhookEvent): Promise<void> {
  const transfer: CreateTransferInput = { to: 'PA-7K2M9QXA', amount: '1.5', currency: 'USDC' };
  const paid = await paywright.transfers.create({ ...transfer, amount: 1.5 }, { idempotencyKey: 'lunch' });
  // @ts-expect-error it may be approval_required, which has no transferId
  paid.transferId satisfies string;
  if (paid.status === 'approval_required') paid.approvalId satisfies string;
  else paid.transferId satisfies string;
  // @ts-expect-error there is no such currency
  await paywright.transfers.create({ ...transfer, currency: 'USD' });
  // @ts-expect-error there is no such member
  await paywright.transfers.create({ ...transfer, recipient: 'PA-7K2M9QXA' });
  // @ts-expect-error the amount is missing
  await paywright.transfers.create({ to: 'PA-7K2M9QXA', currency: 'USDC' });
  // @ts-expect-error a question takes no idempotency key
  await paywright.transfers.getBalance({}, { idempotencyKey: 'lunch' });
  // @ts-expect-error what takes no If-Match is not given one
  await paywright.transfers.create(transfer, { ifMatch: '"v1"' });
  // @ts-expect-error there is no such operation
  paywright.transfers.remove;

  for await (const invoice of paywright.invoices.list({ status: 'paid', limit: 10, overdue: false })) {
    invoice.amount satisfies number;
  }
  (await paywright.invoices.list()).nextCursor satisfies string | null;
  // @ts-expect-error there is no such status
  paywright.invoices.list({ status: 'lost' });

  for await (const { event: name, data } of paywright.shopping.streamProducts({ q: 'mug', website: 'shop.example' })) {
    if (name === 'result') data.title satisfies string;
    else data.count satisfies number;
  }

  const response = await paywright.fetch('https://seller.example', { maxAmount: '0.05', method: 'POST', body: 'x' });
  response satisfies Response;
  response.paid satisfies number;
  // @ts-expect-error without a maximum nothing is fetched
  await paywright.fetch('https://seller.example');
  // @ts-expect-error a body that can be read once cannot be paid for
  await paywright.fetch('https://seller.example', { maxAmount: 1, body: new ReadableStream() });

  if (event.type === 'payment.sent') event.data['transferId'] satisfies unknown;
  // @ts-expect-error there is no such event
  if (event.type === 'payment.lost') return;
  // @ts-expect-error a client needs to know where
  new Paywright({ apiKey: 'pa_live_x' });
}

it('reads the members of an error', () => {
  expect(typed).toBeTypeOf('function');
  const error: unknown = new PaywrightError('No.', {
    code: 'possible_duplicate',
    status: 409,
    members: { duplicateOf: 'x' },
  });
  if (!(error instanceof PaywrightError)) throw new Error('not one of ours');
  error.code satisfies string;
  error.status satisfies number;
  error.requestId satisfies string | undefined;
  // @ts-expect-error another member may be anything
  error['duplicateOf'] satisfies string;
  expect(error['duplicateOf']).toBe('x');
});
