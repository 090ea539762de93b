import type { Job } from './define-job.ts';

/** Unless the line says so, a job that the clock puts in is tried 25 times, whatever it says itself. */
export function cronLine(at: string, { name, maxAttempts }: Job): string {
  return `${at} ${name} ?max=${maxAttempts}`;
}
