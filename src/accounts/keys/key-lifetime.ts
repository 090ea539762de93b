export interface KeyTimes {
  /** The expiry that it was created with, if any. */
  readonly expiresAt: Date | null;
  readonly lastUsedAt: Date | null;
  readonly createdAt: Date;
}

export interface KeyIdleness {
  /** How long an unused key lives; infinite if forever. */
  readonly idleMs: number;
}

/** When a key ends if it stays unused, in milliseconds: at its expiry or after the idle time. */
export function endOfKey({ expiresAt, lastUsedAt, createdAt }: KeyTimes, { idleMs }: KeyIdleness): number {
  const usedAt = Math.max(createdAt.getTime(), lastUsedAt?.getTime() ?? 0);
  return Math.min(expiresAt?.getTime() ?? Number.POSITIVE_INFINITY, usedAt + idleMs);
}

/** As ISO text; null when it never ends. */
export function formatKeyEnd(times: KeyTimes, idleness: KeyIdleness): string | null {
  const end = endOfKey(times, idleness);
  return Number.isFinite(end) ? new Date(end).toISOString() : null;
}
