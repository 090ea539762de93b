/** Sent only on request, whatever events the webhook is registered for. */
export const testEvent = 'webhook.test';
