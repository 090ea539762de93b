import { systemClock } from '../kernel/clock.ts';
import { createCoinbaseOnRamp } from '../payments/funding/adapters/coinbase/coinbase-on-ramp.ts';
import { coinbase } from '../payments/funding/adapters/coinbase/feature.ts';
import { moonpay } from '../payments/funding/adapters/moonpay/feature.ts';
import { createMoonPayOnRamp } from '../payments/funding/adapters/moonpay/moonpay-on-ramp.ts';
import type { OnRamp } from '../payments/funding/on-ramp.ts';
import type { Config } from './config.ts';
import { settingsOf } from './listed-feature.ts';
import type { OpenSandbox } from './sandbox-port.ts';

/** The on-ramps of funding links: the sandbox's card company, and those that the operator has configured. */
export function openOnRamps(config: Config, sandbox: OpenSandbox | undefined): readonly OnRamp[] {
  const clock = systemClock;
  const [toCoinbase, toMoonPay] = [settingsOf(config, coinbase), settingsOf(config, moonpay)];
  return [
    ...(sandbox?.onRamp === undefined ? [] : [sandbox.onRamp]),
    ...(toCoinbase === undefined ? [] : [createCoinbaseOnRamp({ ...toCoinbase, clock })]),
    ...(toMoonPay === undefined ? [] : [createMoonPayOnRamp({ ...toMoonPay, clock })]),
  ];
}
