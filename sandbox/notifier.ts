import type { Notifier } from '../src/accounts/messages/notifier.ts';

/** The sandbox sends nothing: messages go to the console and to GET /api/sandbox/messages. */
export function createConsoleNotifier(say: (line: string) => void): Notifier {
  return {
    async send({ channel, to, text }) {
      say(`${channel === 'sms' ? 'SMS' : 'Mail'} to ${to}: ${text}`);
    },
  };
}
