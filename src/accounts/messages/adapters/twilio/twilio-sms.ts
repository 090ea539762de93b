import type { Notifier } from '../../notifier.ts';

export interface TwilioOptions {
  readonly accountSid: string;
  readonly authToken: string;
  readonly from: string;
  /** Tests set it; otherwise Twilio's own API. */
  readonly baseUrl?: string;
}

const timeoutMs = 10_000;

export function createTwilioSms({
  accountSid,
  authToken,
  from,
  baseUrl = 'https://api.twilio.com',
}: TwilioOptions): Notifier {
  const url = `${baseUrl}/2010-04-01/Accounts/${encodeURIComponent(accountSid)}/Messages.json`;
  const authorization = `Basic ${Buffer.from(`${accountSid}:${authToken}`).toString('base64')}`;
  return {
    async send({ to, text }) {
      const response = await fetch(url, {
        method: 'POST',
        headers: { authorization },
        body: new URLSearchParams({ To: to, From: from, Body: text }),
        redirect: 'error',
        signal: AbortSignal.timeout(timeoutMs),
      });
      if (response.ok) return;
      const { code } = (await response.json().catch(() => ({}))) as { code?: number };
      throw new Error(`Twilio refused the message: status ${response.status}, code ${code ?? 'none'}`);
    },
  };
}
