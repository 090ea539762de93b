import type { Feature } from '../feature.ts';
import { sendMessageHandler } from './outbox.ts';

export const messages: Feature = {
  name: 'messages',
  jobs: ({ mode, db, secrets, notifier }) => [
    sendMessageHandler({ db, secrets, notifier, keepText: mode === 'sandbox' }),
  ],
};
