import type { Job } from './define-job.ts';

/** Without `?max`, graphile-worker would try a scheduled job 25 times, whatever its own maxAttempts says. */
export function cronLine(at: string, { name, maxAttempts }: Job): string {
  return `${at} ${name} ?max=${maxAttempts}`;
}
