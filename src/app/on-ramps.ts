import { systemClock } from '../clock.ts';
import type { Config } from '../config.ts';
import type { Database } from '../db/database.ts';
import type { OnRamp } from '../funding/on-ramp.ts';
import { createCoinbaseOnRamp } from '../providers/onramps/coinbase/coinbase-on-ramp.ts';
import { coinbase } from '../providers/onramps/coinbase/feature.ts';
import { moonpay } from '../providers/onramps/moonpay/feature.ts';
import { createMoonPayOnRamp } from '../providers/onramps/moonpay/moonpay-on-ramp.ts';
import type { LocalChains } from '../sandbox/chains/local-chains.ts';
import { sandbox } from '../sandbox/feature.ts';
import type { SandboxOnRamp } from '../sandbox/on-ramp/sandbox-on-ramp.ts';
import type { Secrets } from '../secrets.ts';
import { settingsOf } from './listed-feature.ts';

export interface OnRampParts {
  readonly config: Config;
  readonly db: Database;
  readonly secrets: Secrets;
  readonly localChains: LocalChains | undefined;
  readonly publicUrl: () => string;
}

/** Who takes cards for funding links: in the sandbox its own card company, and those whose keys the operator has given. */
export async function openOnRamps(
  parts: OnRampParts,
): Promise<{ readonly onRamps: readonly OnRamp[]; readonly sandboxOnRamp: SandboxOnRamp | undefined }> {
  const { config } = parts;
  const clock = systemClock;
  const sandboxOnRamp = await openSandboxOnRamp(parts);
  const [toCoinbase, toMoonPay] = [settingsOf(config, coinbase), settingsOf(config, moonpay)];
  return {
    sandboxOnRamp,
    onRamps: [
      ...(sandboxOnRamp === undefined ? [] : [sandboxOnRamp]),
      ...(toCoinbase === undefined ? [] : [createCoinbaseOnRamp({ ...toCoinbase, clock })]),
      ...(toMoonPay === undefined ? [] : [createMoonPayOnRamp({ ...toMoonPay, clock })]),
    ],
  };
}

/** Loaded only now: what the sandbox is made of need not be installed for live mode. */
async function openSandboxOnRamp(parts: OnRampParts): Promise<SandboxOnRamp | undefined> {
  const { config, db, secrets, localChains, publicUrl } = parts;
  if (localChains === undefined || !settingsOf(config, sandbox).onRamp) return undefined;
  const { createSandboxOnRamp } = await import('../sandbox/on-ramp/sandbox-on-ramp.ts');
  return createSandboxOnRamp({ db, secrets, faucet: localChains.faucet, clock: systemClock, publicUrl });
}
