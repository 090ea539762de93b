import { z } from 'zod';
import type { Clock } from '../../../kernel/clock.ts';
import type { Database, Transaction } from '../../../kernel/db/database.ts';
import type { Feature } from '../../../kernel/feature.ts';
import { Refusal } from '../../../kernel/refusal.ts';
import { defineSettings, missing, url } from '../../../kernel/settings.ts';
import type { PooledProvider } from '../../wallets/pool.ts';
import type { CircleSettings } from './circle-client.ts';
import type { CircleProvider } from './circle-provider.ts';
import { addCircleNotifications, forgetNotifications } from './notifications.ts';

interface CircleParts {
  readonly db: Database;
  /** Only with WALLET_PROVIDER=circle. */
  readonly circle: { readonly provider: CircleProvider; readonly pool: PooledProvider } | undefined;
}

export interface CircleWork extends CircleParts {
  readonly clock: Clock;
}

export interface CirclePages extends CircleParts {
  /** Tells every feature that a transaction may have changed. */
  readonly onTransaction: (tx: Transaction, providerRef: string) => Promise<void>;
}

/** Undefined settings mean that the keys are our own. */
export const circle: Feature<{ settings: CircleSettings | undefined; pages: CirclePages; working: CircleWork }> = {
  name: 'circle',
  settings: defineSettings({
    variables: {
      WALLET_PROVIDER: z.enum(['keys', 'circle'], { error: 'must be keys or circle' }).default('keys'),
      CIRCLE_API_KEY: z.string().optional(),
      CIRCLE_ENTITY_SECRET: z
        .string()
        .regex(/^[0-9a-fA-F]{64}$/, 'must be 64 hexadecimal characters')
        .optional(),
      CIRCLE_BASE_URL: url('http:', 'https:').optional(),
    },
    harmless: ['WALLET_PROVIDER'],
    docs: {
      room: 'Custody',
      rows: {
        WALLET_PROVIDER: {
          usual: '`keys`',
          does: 'Chooses who holds the wallet keys: `keys` derives them from a seed sealed with `PAYWRIGHT_SECRET`, `circle` uses Circle’s developer-controlled wallets.',
          change: 'When Circle should hold the keys.',
        },
        'CIRCLE_API_KEY, CIRCLE_ENTITY_SECRET, CIRCLE_BASE_URL': {
          usual: 'none, none, Circle’s own address',
          does: 'The credentials of your Circle account, and the address of its API.',
          change: 'With `WALLET_PROVIDER=circle`. The address changes only in tests.',
        },
      },
    },
    read({ WALLET_PROVIDER, CIRCLE_API_KEY, CIRCLE_ENTITY_SECRET, CIRCLE_BASE_URL }) {
      if (WALLET_PROVIDER === 'keys') return undefined;
      if (CIRCLE_API_KEY === undefined || CIRCLE_ENTITY_SECRET === undefined) {
        throw new Refusal('WALLET_PROVIDER=circle needs CIRCLE_API_KEY and CIRCLE_ENTITY_SECRET.');
      }
      return { apiKey: CIRCLE_API_KEY, entitySecret: CIRCLE_ENTITY_SECRET, baseUrl: CIRCLE_BASE_URL };
    },
    refuseLive(env) {
      if (env.WALLET_PROVIDER === 'keys') return [];
      return [
        ...missing(env, {
          CIRCLE_API_KEY: 'the key of your Circle account',
          CIRCLE_ENTITY_SECRET: 'the entity secret that you registered with Circle',
        }),
        ...(/^TEST_/i.test(env.CIRCLE_API_KEY ?? '')
          ? ['CIRCLE_API_KEY is unsafe: it is a key for Circle’s test networks']
          : []),
        ...(env.CIRCLE_BASE_URL?.startsWith('http:') ? ['CIRCLE_BASE_URL is unsafe: it must begin with https://'] : []),
      ];
    },
  }),
  pages(app, { db, circle: held, onTransaction }) {
    if (held === undefined) return;
    addCircleNotifications(app, {
      db,
      provider: held.provider,
      onTransaction: (transactionId, tx) => onTransaction(tx, transactionId),
    });
  },
  schedules: ({ db, clock, circle: held }) =>
    held === undefined ? [] : [held.pool.schedule, forgetNotifications(db, clock)],
};
