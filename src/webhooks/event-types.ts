/** What a webhook may be registered for. */
export const eventTypes = [
  'payment.sent',
  'payment.received',
  'deposit.received',
  'withdrawal.created',
  'withdrawal.completed',
  'withdrawal.failed',
  'invoice.created',
  'invoice.paid',
  'invoice.cancelled',
] as const;

/** Sent only when its owner asks for it, whatever the webhook is registered for. */
export const testEvent = 'webhook.test';
