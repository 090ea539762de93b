import { defineErrors } from '../kernel/http/problem.ts';

export const webhookErrors = defineErrors({
  webhook_url_refused: {
    status: 400,
    title: 'Webhook URL refused',
    detail: 'Nothing can be sent to this URL. It must begin with https:// and lead to a public address.',
  },
  too_many_webhooks: {
    status: 409,
    title: 'Too many webhooks',
    detail: 'An account may have 20 webhooks. Delete one first.',
  },
  webhook_not_found: { status: 404, title: 'No such webhook', detail: 'You have no webhook with this id.' },
  webhook_inactive: {
    status: 409,
    title: 'Webhook not active',
    detail:
      'Its receiver has answered 410 Gone, or it was deleted: nothing is sent to it any more. Register a new one.',
  },
  delivery_not_found: { status: 404, title: 'No such delivery', detail: 'You have no delivery with this id.' },
  delivery_pending: {
    status: 409,
    title: 'Still being delivered',
    detail: 'It is under way or will be tried again by itself; nextAttemptAt says when.',
  },
});
