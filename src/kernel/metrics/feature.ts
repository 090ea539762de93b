import { z } from 'zod';
import type { Feature } from '../feature.ts';
import { isLoopback } from '../loopback.ts';
import { defineSettings } from '../settings.ts';
import type { OperatorAddress } from './operator-server.ts';

/** Undefined where metrics are off. */
type MetricsSettings = OperatorAddress | undefined;

const portNumber = 'must be a whole number from 0 to 65535';

export const metrics: Feature<{ settings: MetricsSettings }> = {
  name: 'metrics',
  settings: defineSettings({
    variables: {
      OPERATOR_PORT: z
        .string()
        .regex(/^\d{1,5}$/, portNumber)
        .transform(Number)
        .refine((port) => port <= 65_535, portNumber)
        .optional(),
      OPERATOR_HOST: z.string().max(255, 'must be an address of this machine').default('127.0.0.1'),
      OPERATOR_OPEN: z.enum(['yes', 'no'], { error: 'must be yes or no' }).default('no'),
    },
    docs: {
      room: 'Metrics',
      rows: {
        'OPERATOR_PORT, OPERATOR_HOST': {
          usual: 'off, `127.0.0.1`',
          does: 'The port and address at which every process serves `/metrics` to Prometheus ([metrics.md](metrics.md)). Port 0 picks a free one.',
          change: 'To monitor the service, which you should in live mode.',
        },
        OPERATOR_OPEN: {
          usual: '`no`',
          does: 'Confirms with `yes` that `OPERATOR_HOST` may be an address that other machines reach. `/metrics` asks for no password.',
          change:
            'When Prometheus runs on another machine and a firewall keeps strangers out. Live mode refuses such a host without it.',
        },
      },
    },
    harmless: ['OPERATOR_PORT', 'OPERATOR_HOST', 'OPERATOR_OPEN'],
    read: ({ OPERATOR_PORT: port, OPERATOR_HOST: host }) => (port === undefined ? undefined : { host, port }),
    refuseLive: ({ OPERATOR_PORT, OPERATOR_HOST, OPERATOR_OPEN }) =>
      OPERATOR_PORT === undefined || isLoopback(OPERATOR_HOST) || OPERATOR_OPEN === 'yes'
        ? []
        : [
            'OPERATOR_HOST is unsafe: other machines reach it and /metrics asks for no password; set OPERATOR_OPEN=yes if a firewall keeps strangers out',
          ],
  }),
};
