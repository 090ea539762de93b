/** What an invoice goes through: for each state, what may be done and where that leads. The database refuses any other step. */
export const invoiceStates = {
  /** Waits for the addressed account to pay, or for its sender to take it back. */
  pending: { pay: 'paid', cancel: 'cancelled' },
  /** The money has moved, in the same commit. */
  paid: {},
  cancelled: {},
} as const satisfies Record<string, Partial<Record<InvoiceStep, string>>>;

export type InvoiceStep = 'pay' | 'cancel';

export type InvoiceStatus = keyof typeof invoiceStates;

export const invoiceStatuses = Object.keys(invoiceStates) as [InvoiceStatus, ...InvoiceStatus[]];

/** Where the step leads from here; undefined when it cannot be taken. */
export function afterStep(from: InvoiceStatus, step: InvoiceStep): InvoiceStatus | undefined {
  const steps: Partial<Record<InvoiceStep, InvoiceStatus>> = invoiceStates[from];
  return steps[step];
}
