/** For each state, the allowed steps and the state they lead to. A database trigger refuses any other step. */
export const invoiceStates = {
  pending: { pay: 'paid', cancel: 'cancelled' },
  /** The transfer is posted in the same commit. */
  paid: {},
  cancelled: {},
} as const satisfies Record<string, Partial<Record<InvoiceStep, string>>>;

export type InvoiceStep = 'pay' | 'cancel';

export type InvoiceStatus = keyof typeof invoiceStates;

export const invoiceStatuses = Object.keys(invoiceStates) as [InvoiceStatus, ...InvoiceStatus[]];

/** Undefined when the step is not allowed from this state. */
export function afterStep(from: InvoiceStatus, step: InvoiceStep): InvoiceStatus | undefined {
  const steps: Partial<Record<InvoiceStep, InvoiceStatus>> = invoiceStates[from];
  return steps[step];
}
