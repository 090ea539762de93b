import { z } from 'zod';
import type { Feature } from '../feature.ts';
import { isLoopback } from '../loopback.ts';
import { defineSettings } from '../settings.ts';
import type { OperatorAddress } from './operator-server.ts';

/** Undefined when metrics are off. */
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
    readme: [
      '| `OPERATOR_PORT`, `OPERATOR_HOST` | off, `127.0.0.1` | where `/metrics` is, for Prometheus (`docs/metrics.md`); every role has it; port 0 picks a free one |',
      '| `OPERATOR_OPEN` | `no` | `yes`: `OPERATOR_HOST` may be reached from other machines, none of which is asked who it is. Live refuses such a host without it |',
    ],
    harmless: ['OPERATOR_PORT', 'OPERATOR_HOST', 'OPERATOR_OPEN'],
    read: ({ OPERATOR_PORT: port, OPERATOR_HOST: host }) => (port === undefined ? undefined : { host, port }),
    refuseLive: ({ OPERATOR_PORT, OPERATOR_HOST, OPERATOR_OPEN }) =>
      OPERATOR_PORT === undefined || isLoopback(OPERATOR_HOST) || OPERATOR_OPEN === 'yes'
        ? []
        : [
            'OPERATOR_HOST is unsafe: other machines can reach /metrics without authentication; set OPERATOR_OPEN=yes if your network keeps strangers out',
          ],
  }),
};
