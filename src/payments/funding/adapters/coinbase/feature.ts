import { z } from 'zod';
import type { Feature } from '../../../../kernel/feature.ts';
import { Refusal } from '../../../../kernel/refusal.ts';
import { defineSettings, missing, url } from '../../../../kernel/settings.ts';
import { type CoinbaseOptions, readCoinbaseKey } from './coinbase-on-ramp.ts';

const own = 'https://api.cdp.coinbase.com';

const needed = {
  COINBASE_ONRAMP_KEY_ID: 'the id of your CDP API key',
  COINBASE_ONRAMP_KEY_SECRET: 'the secret of that key',
  COINBASE_ONRAMP_WEBHOOK_SECRET: 'the secret of your webhook subscription at Coinbase',
};

/** Undefined without credentials. */
export const coinbase: Feature<{ settings: Omit<CoinbaseOptions, 'clock'> | undefined }> = {
  name: 'coinbase-onramp',
  settings: defineSettings({
    variables: {
      COINBASE_ONRAMP_KEY_ID: z.string().optional(),
      COINBASE_ONRAMP_KEY_SECRET: z
        .string()
        .transform((text, context) => {
          const key = readCoinbaseKey(text);
          if (key === undefined)
            context.addIssue('must be an Ed25519 key in base64 or an EC key in PEM, as Coinbase gives it');
          return key ?? z.NEVER;
        })
        .optional(),
      COINBASE_ONRAMP_WEBHOOK_SECRET: z.string().min(8, 'must be the secret of a webhook subscription').optional(),
      COINBASE_ONRAMP_URL: url('http:', 'https:').optional(),
    },
    docs: {
      room: 'Funding by card',
      rows: {
        'COINBASE_ONRAMP_KEY_ID, COINBASE_ONRAMP_KEY_SECRET, COINBASE_ONRAMP_WEBHOOK_SECRET, COINBASE_ONRAMP_URL': {
          usual: 'off',
          does: 'The credentials of Coinbase Onramp, which takes cards on funding links. Coinbase must send its notices to `/api/funding/coinbase/notices`.',
          change: 'To take cards through Coinbase. `COINBASE_ONRAMP_URL` names a stand-in for the sandbox.',
        },
      },
    },
    read(env, mode) {
      const { COINBASE_ONRAMP_KEY_ID: keyId, COINBASE_ONRAMP_KEY_SECRET: key } = env;
      const { COINBASE_ONRAMP_WEBHOOK_SECRET: webhookSecret, COINBASE_ONRAMP_URL: elsewhere } = env;
      if (keyId === undefined && key === undefined && webhookSecret === undefined) return undefined;
      if (keyId === undefined || key === undefined || webhookSecret === undefined) {
        throw new Refusal(`Coinbase Onramp is half set up: ${missing(env, needed).join('; ')}.`);
      }
      // Real money would go to an address on a chain that does not exist.
      if (mode === 'sandbox' && elsewhere === undefined) {
        throw new Refusal('Coinbase Onramp takes real cards: in the sandbox COINBASE_ONRAMP_URL must name a stand-in.');
      }
      return { keyId, key, webhookSecret, url: elsewhere ?? own };
    },
    refuseLive: (env) => [
      ...(Object.keys(needed).some((name) => env[name as keyof typeof env] !== undefined) ? missing(env, needed) : []),
      ...(env.COINBASE_ONRAMP_URL?.startsWith('http:') === true
        ? ['COINBASE_ONRAMP_URL is unsafe: it must begin with https://']
        : []),
    ],
  }),
};
