import { parseCrontab } from 'graphile-worker';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { cronLine } from './cron-line.ts';
import { defineJob } from './define-job.ts';

it('carries how often a job may be tried', () => {
  const job = defineJob({ name: 'count-the-stars', payload: z.unknown(), maxAttempts: 3 });
  const [item] = parseCrontab(cronLine('7 * * * *', job));
  expect(item).toMatchObject({ task: 'count-the-stars', options: { maxAttempts: 3 } });
});
