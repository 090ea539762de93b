import type { AnsweredRequest } from '../http/server.ts';
import { createHistogram, defineMetrics, type Histogram, type MetricSource } from './metric.ts';

export interface RequestMeter {
  readonly source: MetricSource;
  count(request: AnsweredRequest): void;
}

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
const classes = ['1xx', '2xx', '3xx', '4xx', '5xx'];

/** More than there are routes and methods; further ones are counted as `other`. */
const mostRoutes = 1_000;

interface Counted {
  readonly route: string;
  readonly method: string;
  readonly durations: Histogram;
  /** Number of responses per status class. */
  readonly answers: number[];
}

/** Runs for every request, so it costs one map lookup. */
export function createRequestMeter(): RequestMeter {
  const all = new Map<string, Counted>();

  function countedOf(route: string, method: string): Counted {
    const key = `${method} ${route}`;
    const known = all.get(key);
    if (known !== undefined) return known;
    if (route !== 'other' && all.size >= mostRoutes) return countedOf('other', method);
    const fresh = { route, method, durations: createHistogram({ buckets }), answers: classes.map(() => 0) };
    all.set(key, fresh);
    return fresh;
  }

  return {
    count({ route, method, status, seconds }) {
      const { durations, answers } = countedOf(route, methods.has(method) ? method : 'other');
      durations.observe(seconds);
      const place = Math.floor(status / 100) - 1;
      answers[place] = (answers[place] ?? 0) + 1;
    },
    source: defineMetrics({
      name: 'requests',
      metrics: {
        paywright_http_requests_total: {
          type: 'counter',
          help: 'Requests answered, by route pattern, method and status class.',
        },
        paywright_http_request_seconds: {
          type: 'histogram',
          help: 'Request duration until the last byte was sent, by route pattern and method.',
        },
      },
      maxAgeMs: 0,
      read: () => ({
        paywright_http_requests_total: [...all.values()].flatMap(({ route, method, answers }) =>
          classes.flatMap((status, place) => {
            const value = answers[place] ?? 0;
            return value === 0 ? [] : [{ labels: { route, method, status }, value }];
          }),
        ),
        paywright_http_request_seconds: [...all.values()].flatMap(({ route, method, durations }) =>
          durations.samples({ route, method }),
        ),
      }),
    }),
  };
}
