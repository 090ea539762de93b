import { z } from 'zod';
import type { Feature } from '../../../../kernel/feature.ts';
import { askProvider } from '../../../../kernel/outgoing/ask-provider.ts';
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
const mostBytes = 100_000;

/** Of an error in Twilio's JSON. */
function codeIn(text: string): number | undefined {
  try {
    return (JSON.parse(text) as { code?: number }).code;
  } catch {
    return undefined;
  }
}

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
      const reply = await askProvider(url, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' },
        body: new URLSearchParams({ To: to, From: from, Body: text }).toString(),
        timeoutMs,
        mostBytes,
      });
      if (reply.status >= 200 && reply.status < 300) return reply.drop();
      const said = await reply.text().catch(() => '');
      throw new Error(`Twilio refused the message: status ${reply.status}, code ${codeIn(said) ?? 'none'}`);
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
