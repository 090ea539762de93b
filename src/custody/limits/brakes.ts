import type { Caller } from '../../kernel/http/define-route.ts';
import { defineSettings, wholeNumber } from '../../kernel/settings.ts';

/** The limits on money that goes to outside addresses. Values are in millionths of a USDC; undefined means no limit. */
export interface Brakes {
  /** What an account may send within 24 hours, by tier. */
  readonly perDay: Readonly<Record<Caller['tier'], bigint | undefined>>;
  /** What all accounts together may send within an hour. */
  readonly perHour: bigint | undefined;
  /** How long a new address waits before it can be used, and the allow-list before it is off. */
  readonly allowListDelayHours: number;
}

const usual = { perDay: 25_000, perHour: 100_000, delayHours: 24 };

/**
 * In live mode: an attacker who takes over an account at night must not finish before its owner reads the mail about
 * it.
 */
const leastDelayHours = 12;

const mostValue = 1_000_000_000;

/** In whole USDC; 0 means no limit. */
const limit = (fallback: number) => wholeNumber(0, mostValue, fallback);

export const brakeSettings = defineSettings({
  variables: {
    WITHDRAWAL_DAILY_LIMIT_FREE: limit(usual.perDay),
    WITHDRAWAL_DAILY_LIMIT_PRO: limit(usual.perDay),
    WITHDRAWAL_DAILY_LIMIT_ENTERPRISE: limit(usual.perDay),
    WITHDRAWALS_PER_HOUR: limit(usual.perHour),
    WITHDRAWAL_ALLOW_LIST_DELAY_HOURS: wholeNumber(0, 24 * 30, usual.delayHours),
  },
  harmless: [
    'WITHDRAWAL_DAILY_LIMIT_FREE',
    'WITHDRAWAL_DAILY_LIMIT_PRO',
    'WITHDRAWAL_DAILY_LIMIT_ENTERPRISE',
    'WITHDRAWALS_PER_HOUR',
    'WITHDRAWAL_ALLOW_LIST_DELAY_HOURS',
  ],
  readme: [
    '| `WITHDRAWAL_DAILY_LIMIT_FREE`, `WITHDRAWAL_DAILY_LIMIT_PRO`, `WITHDRAWAL_DAILY_LIMIT_ENTERPRISE` | `25000` each | what an account of that tier may send outside within 24 hours, in USDC: withdrawals and payments to sellers. Everybody can choose `pro`. 0 is none; live refuses that for `FREE` and `PRO` |',
    '| `WITHDRAWALS_PER_HOUR` | `100000` | what may leave within an hour, in USDC, of all accounts together; above it withdrawals are held for `paywright withdrawals release`, and sellers are not paid. 0 is none, and refused in live |',
    '| `WITHDRAWAL_ALLOW_LIST_DELAY_HOURS` | `24` | how long a new address of an allow-list waits before it can be used, and the list before it is off. Live takes 12 at least |',
  ],
  read: (env): Brakes => ({
    perDay: {
      free: toValue(env.WITHDRAWAL_DAILY_LIMIT_FREE),
      pro: toValue(env.WITHDRAWAL_DAILY_LIMIT_PRO),
      enterprise: toValue(env.WITHDRAWAL_DAILY_LIMIT_ENTERPRISE),
    },
    perHour: toValue(env.WITHDRAWALS_PER_HOUR),
    allowListDelayHours: env.WITHDRAWAL_ALLOW_LIST_DELAY_HOURS,
  }),
  refuseLive: (env) => [
    // The operator knows enterprise accounts and may have agreed on anything; anyone can have the other tiers.
    ...(['WITHDRAWAL_DAILY_LIMIT_FREE', 'WITHDRAWAL_DAILY_LIMIT_PRO'] as const).flatMap((name) =>
      env[name] === 0 ? [`${name} is unsafe: a stolen key could send everything at once`] : [],
    ),
    ...(env.WITHDRAWALS_PER_HOUR === 0
      ? ['WITHDRAWALS_PER_HOUR is unsafe: an error or an attack could empty the treasury before an operator notices']
      : []),
    ...(env.WITHDRAWAL_ALLOW_LIST_DELAY_HOURS < leastDelayHours
      ? [
          `WITHDRAWAL_ALLOW_LIST_DELAY_HOURS is unsafe: an owner may be asleep for that long; live mode needs at least ${leastDelayHours}`,
        ]
      : []),
  ],
});

function toValue(whole: number): bigint | undefined {
  return whole === 0 ? undefined : BigInt(whole) * 1_000_000n;
}
