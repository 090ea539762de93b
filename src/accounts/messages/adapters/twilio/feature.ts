import { z } from 'zod';
import type { Feature } from '../../../../kernel/feature.ts';
import { defineSettings, missing } from '../../../../kernel/settings.ts';
import type { Notifier } from '../../notifier.ts';

interface TwilioOptions {
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

export const twilio: Feature<{ settings: TwilioOptions | undefined }> = {
  name: 'twilio',
  settings: defineSettings({
    variables: {
      TWILIO_ACCOUNT_SID: z.string().optional(),
      TWILIO_AUTH_TOKEN: z.string().optional(),
      TWILIO_FROM: z.string().optional(),
    },
    docs: {
      room: 'Accounts',
      rows: {
        'TWILIO_ACCOUNT_SID, TWILIO_AUTH_TOKEN, TWILIO_FROM': {
          usual: 'the sandbox prints messages on the console',
          does: 'The Twilio account and the number that send verification codes by SMS.',
          change: 'Always in live mode.',
        },
      },
    },
    read: ({ TWILIO_ACCOUNT_SID: accountSid, TWILIO_AUTH_TOKEN: authToken, TWILIO_FROM: from }) =>
      accountSid && authToken && from ? { accountSid, authToken, from } : undefined,
    refuseLive: (env) =>
      missing(env, {
        TWILIO_ACCOUNT_SID: 'the account that sends verification codes by SMS',
        TWILIO_AUTH_TOKEN: 'the token of that account',
        TWILIO_FROM: 'the number that those messages come from',
      }),
  }),
};
