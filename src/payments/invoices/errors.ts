import { defineErrors } from '../../kernel/http/problem.ts';

export const invoiceErrors = defineErrors({
  invoice_not_found: {
    status: 404,
    title: 'Invoice not found',
    detail: 'You have neither sent nor received an invoice with this id. GET /invoices lists your invoices.',
  },
  self_invoice: {
    status: 400,
    title: 'Invoice to yourself',
    detail: 'The recipient is your own account. Choose another recipient.',
  },
  not_invoice_recipient: {
    status: 403,
    title: 'Not the invoice recipient',
    detail: 'Only the account that the invoice is addressed to can pay it. Use a key of that account.',
  },
  not_invoice_sender: {
    status: 403,
    title: 'Not the invoice sender',
    detail: 'Only the account that sent the invoice can cancel it. Use a key of that account.',
  },
  invoice_already_paid: {
    status: 409,
    title: 'Already paid',
    detail:
      'The invoice is already paid, and no money was moved by this request. Its `transferId` identifies the transfer.',
  },
  invoice_already_cancelled: {
    status: 409,
    title: 'Already cancelled',
    detail: 'The sender cancelled this invoice. No money was moved. Ask the sender for a new invoice.',
  },
});
