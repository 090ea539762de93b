import { z } from 'zod';
import type { Feature } from '../../../../kernel/feature.ts';
import { Refusal } from '../../../../kernel/refusal.ts';
import { defineSettings, missing, url } from '../../../../kernel/settings.ts';
import type { MoonPayOptions } from './moonpay-on-ramp.ts';

const own = 'https://buy.moonpay.com';

const needed = {
  MOONPAY_API_KEY: 'the publishable key of your MoonPay account',
  MOONPAY_SECRET_KEY: 'the secret key, which signs where the money goes',
  MOONPAY_WEBHOOK_KEY: 'the webhook key, which MoonPay signs its notices with',
};

/** Undefined without credentials. */
export const moonpay: Feature<{ settings: Omit<MoonPayOptions, 'clock'> | undefined }> = {
  name: 'moonpay',
  settings: defineSettings({
    variables: {
      MOONPAY_API_KEY: z.string().startsWith('pk_', 'must be a publishable key, which begins with pk_').optional(),
      MOONPAY_SECRET_KEY: z.string().startsWith('sk_', 'must be a secret key, which begins with sk_').optional(),
      MOONPAY_WEBHOOK_KEY: z.string().min(8, 'must be the webhook key of a MoonPay account').optional(),
      MOONPAY_URL: url('http:', 'https:').optional(),
    },
    docs: {
      room: 'Funding by card',
      rows: {
        'MOONPAY_API_KEY, MOONPAY_SECRET_KEY, MOONPAY_WEBHOOK_KEY, MOONPAY_URL': {
          usual: 'off',
          does: 'The credentials of MoonPay, which takes cards on funding links. MoonPay must send its notices to `/api/funding/moonpay/notices`.',
          change: 'To take cards through MoonPay. `MOONPAY_URL` names a stand-in for the sandbox.',
        },
      },
    },
    read(env, mode) {
      const { MOONPAY_API_KEY: apiKey, MOONPAY_SECRET_KEY: secretKey } = env;
      const { MOONPAY_WEBHOOK_KEY: webhookKey, MOONPAY_URL: elsewhere } = env;
      if (apiKey === undefined && secretKey === undefined && webhookKey === undefined) return undefined;
      if (apiKey === undefined || secretKey === undefined || webhookKey === undefined) {
        throw new Refusal(`MoonPay is half set up: ${missing(env, needed).join('; ')}.`);
      }
      // Real money would go to an address on a chain that does not exist.
      if (mode === 'sandbox' && elsewhere === undefined) {
        throw new Refusal('MoonPay takes real cards: in the sandbox MOONPAY_URL must name a stand-in.');
      }
      return { apiKey, secretKey, webhookKey, url: elsewhere ?? own };
    },
    refuseLive: (env) => [
      ...(Object.keys(needed).some((name) => env[name as keyof typeof env] !== undefined) ? missing(env, needed) : []),
      ...(env.MOONPAY_URL?.startsWith('http:') === true ? ['MOONPAY_URL is unsafe: it must begin with https://'] : []),
    ],
  }),
};
