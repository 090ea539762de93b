/** What is known of a key's time. */
export interface KeyTimes {
  /** The day that it was given when it was made, if any. */
  readonly expiresAt: Date | null;
  readonly lastUsedAt: Date | null;
  readonly createdAt: Date;
}

/** How long a key lives that nobody uses. */
export interface KeyIdleness {
  /** Infinite when it lives for ever. */
  readonly idleMs: number;
}

/** When a key ends as things stand, in milliseconds: on its day, or because nobody uses it until then. */
export function endOfKey({ expiresAt, lastUsedAt, createdAt }: KeyTimes, { idleMs }: KeyIdleness): number {
  const usedAt = Math.max(createdAt.getTime(), lastUsedAt?.getTime() ?? 0);
  return Math.min(expiresAt?.getTime() ?? Number.POSITIVE_INFINITY, usedAt + idleMs);
}

/** The same, as it is told: null when it does not end by itself. */
export function tellEndOfKey(times: KeyTimes, idleness: KeyIdleness): string | null {
  const end = endOfKey(times, idleness);
  return Number.isFinite(end) ? new Date(end).toISOString() : null;
}
