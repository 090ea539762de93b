import type { ChainId } from '../chains/chains.ts';

/** Below this a house wallet soon cannot pay for its transactions: some hundred of them at busy times. In native coin. */
const alarmLevels: Readonly<Record<ChainId, bigint>> = {
  MATIC: 5n * 10n ** 18n,
  ETH: 10n ** 17n,
  ARB: 10n ** 16n,
  BASE: 10n ** 16n,
  AVAX: 10n ** 18n,
  OP: 10n ** 16n,
};

export function gasAlarmLevel(chain: ChainId): bigint {
  return alarmLevels[chain];
}

export function isGasLow(chain: ChainId, atomic: bigint): boolean {
  return atomic < gasAlarmLevel(chain);
}
