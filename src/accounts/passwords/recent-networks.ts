import type { Clock } from '../../kernel/clock.ts';

const rememberedMs = 30 * 24 * 3_600_000;
const mostRemembered = 50_000;

/** Networks from which an account recently signed in successfully. A forgotten one costs its owner a short delay at most. */
export interface RecentNetworks {
  remember(accountId: bigint, network: string): void;
  has(accountId: bigint, network: string): boolean;
}

export function createRecentNetworks(clock: Clock): RecentNetworks {
  /** Oldest first. */
  const seen = new Map<string, number>();
  return {
    remember(accountId, network) {
      const place = `${accountId} ${network}`;
      seen.delete(place);
      seen.set(place, clock.now());
      const [oldest] = seen.keys();
      if (seen.size > mostRemembered && oldest !== undefined) seen.delete(oldest);
    },
    has(accountId, network) {
      const at = seen.get(`${accountId} ${network}`);
      return at !== undefined && at > clock.now() - rememberedMs;
    },
  };
}
