import { defineErrors } from '../kernel/http/problem.ts';

export const webhookErrors = defineErrors({
  webhook_url_refused: {
    status: 400,
    title: 'Webhook URL refused',
    detail: 'Events cannot be sent to this URL. It must begin with https:// and resolve to a public IP address.',
  },
  too_many_webhooks: {
    status: 409,
    title: 'Too many webhooks',
    detail: 'An account can have at most 20 webhooks. Delete one, then try again.',
  },
  webhook_not_found: {
    status: 404,
    title: 'Webhook not found',
    detail: 'You have no webhook with this id. GET /webhooks lists your webhooks.',
  },
  webhook_inactive: {
    status: 409,
    title: 'Webhook not active',
    detail:
      'The webhook was deleted, or disabled because its receiver responded with 410 Gone. Create a new one with POST /webhooks.',
  },
  delivery_not_found: {
    status: 404,
    title: 'Delivery not found',
    detail:
      'You have no delivery with this id, or it is no longer kept. GET /webhooks/deliveries lists your deliveries.',
  },
  delivery_pending: {
    status: 409,
    title: 'Delivery in progress',
    detail: 'The delivery is in progress or will be retried automatically at `nextAttemptAt`. Wait until it finishes.',
  },
  events_gone: {
    status: 410,
    title: 'Events gone',
    detail:
      'The feed is closed, or events behind this cursor are no longer kept. Begin again with POST /account/events; GET /circle/transfers and the other lists show what happened meanwhile.',
  },
});
