import { parseEther } from 'viem';
import { type ChainId, chains } from '../../money/catalogue.ts';

/** In native coin, which has 18 decimals on every chain. */
export function gasAlarmLevel(chain: ChainId): bigint {
  return parseEther(chains[chain].gasAlarm);
}

export function isGasLow(chain: ChainId, atomic: bigint): boolean {
  return atomic < gasAlarmLevel(chain);
}
