import type { Notifier } from '../src/accounts/messages/notifier.ts';

/** Nothing leaves the sandbox: messages are shown on the console, and by GET /api/sandbox/messages. */
export function createConsoleNotifier(say: (line: string) => void): Notifier {
  return {
    async send({ channel, to, text }) {
      say(`${channel === 'sms' ? 'SMS' : 'Mail'} to ${to}: ${text}`);
    },
  };
}
