import type { Caller } from '../../kernel/http/define-route.ts';
import { defineSettings, wholeNumber } from '../../kernel/settings.ts';

/** The limits on money that goes to outside addresses. Values are in millionths of a USDC; undefined means no limit. */
export interface OutgoingLimits {
  /** What an account may send within 24 hours, by tier. */
  readonly perDay: Readonly<Record<Caller['tier'], bigint | undefined>>;
  /** What all accounts together may send within an hour. */
  readonly perHour: bigint | undefined;
  /** How long a new address waits before it can be used, and the allow-list before it is off. */
  readonly allowListDelayHours: number;
}

const usual = { perDay: 25_000, perHour: 100_000 };

/** A day: the owner of a stolen account reads the mail about a new address before the thief can use it. */
const allowListDelayHours = 24;

const mostValue = 1_000_000_000;

/** In whole USDC; 0 means no limit. */
const limit = (fallback: number) => wholeNumber(0, mostValue, fallback);

export const limitSettings = defineSettings({
  variables: {
    WITHDRAWAL_DAILY_LIMIT_FREE: limit(usual.perDay),
    WITHDRAWAL_DAILY_LIMIT_PRO: limit(usual.perDay),
    WITHDRAWAL_DAILY_LIMIT_ENTERPRISE: limit(usual.perDay),
    WITHDRAWALS_PER_HOUR: limit(usual.perHour),
  },
  harmless: [
    'WITHDRAWAL_DAILY_LIMIT_FREE',
    'WITHDRAWAL_DAILY_LIMIT_PRO',
    'WITHDRAWAL_DAILY_LIMIT_ENTERPRISE',
    'WITHDRAWALS_PER_HOUR',
  ],
  docs: {
    room: 'Withdrawals',
    rows: {
      'WITHDRAWAL_DAILY_LIMIT_FREE, WITHDRAWAL_DAILY_LIMIT_PRO, WITHDRAWAL_DAILY_LIMIT_ENTERPRISE': {
        usual: '`25000` each',
        does: 'The most USDC that an account of that tier sends within 24 hours to addresses outside and to sellers. 0 is unlimited, which live mode refuses for `FREE` and `PRO`.',
        change: 'To match what you are ready to lose with a stolen key. Anyone can choose the tier `pro`.',
      },
      WITHDRAWALS_PER_HOUR: {
        usual: '`100000`',
        does: 'The service-wide limit on outgoing payments, in USDC per hour. Above it withdrawals wait for `paywright withdrawals release` and sellers are not paid. 0 is unlimited, which live mode refuses.',
        change: 'When your honest volume comes near it.',
      },
    },
  },
  read: (env): OutgoingLimits => ({
    perDay: {
      free: toValue(env.WITHDRAWAL_DAILY_LIMIT_FREE),
      pro: toValue(env.WITHDRAWAL_DAILY_LIMIT_PRO),
      enterprise: toValue(env.WITHDRAWAL_DAILY_LIMIT_ENTERPRISE),
    },
    perHour: toValue(env.WITHDRAWALS_PER_HOUR),
    allowListDelayHours,
  }),
  refuseLive: (env) => [
    // The operator knows each enterprise and may have agreed on any limit; anyone can choose the other tiers.
    ...(['WITHDRAWAL_DAILY_LIMIT_FREE', 'WITHDRAWAL_DAILY_LIMIT_PRO'] as const).flatMap((name) =>
      env[name] === 0 ? [`${name} is unsafe: a stolen key could send the whole balance at once`] : [],
    ),
    ...(env.WITHDRAWALS_PER_HOUR === 0
      ? ['WITHDRAWALS_PER_HOUR is unsafe: a bug or a thief could empty the treasury before you notice']
      : []),
  ],
});

function toValue(whole: number): bigint | undefined {
  return whole === 0 ? undefined : BigInt(whole) * 1_000_000n;
}
