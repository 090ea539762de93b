/** Sent only when its owner asks for it, whatever the webhook is registered for. */
export const testEvent = 'webhook.test';
