import type { Clock } from '../../kernel/clock.ts';

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

/** SQL: whether the key works. `now` and `usedAfter` name the two parameters of `workingTimes`. */
export function isWorking(key: string, now: string, usedAfter: string): string {
  return `${key}.revoked_at IS NULL AND (${key}.expires_at IS NULL OR ${key}.expires_at > ${now})
    AND (${usedAfter}::timestamptz IS NULL OR greatest(${key}.created_at, ${key}.last_used_at) > ${usedAfter})`;
}

/** The moment now, and the one since which a key must have been used. The latter is null if unused keys live forever. */
export function workingTimes({ clock, idleMs }: KeyIdleness & { readonly clock: Clock }): [Date, Date | null] {
  const now = clock.now();
  return [new Date(now), Number.isFinite(idleMs) ? new Date(now - idleMs) : null];
}
