import { defineErrors } from '../../kernel/http/problem.ts';

export const invoiceErrors = defineErrors({
  invoice_not_found: {
    status: 404,
    title: 'No such invoice',
    detail: 'You have neither sent nor received such an invoice.',
  },
  self_invoice: { status: 400, title: 'An invoice to yourself', detail: 'The recipient is your own account.' },
  not_invoice_recipient: {
    status: 403,
    title: 'Not yours to pay',
    detail: 'Only the account that the invoice is addressed to can pay it.',
  },
  not_invoice_sender: {
    status: 403,
    title: 'Not yours to cancel',
    detail: 'Only the account that has sent the invoice can cancel it.',
  },
  invoice_already_paid: {
    status: 409,
    title: 'Already paid',
    detail: 'The invoice is paid, once and for good. Its transferId names the transfer.',
  },
  invoice_already_cancelled: {
    status: 409,
    title: 'Already cancelled',
    detail: 'The sender has cancelled this invoice. Nothing was moved.',
  },
});
