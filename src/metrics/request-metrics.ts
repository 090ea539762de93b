import type { AnsweredRequest } from '../http/server.ts';
import { createHistogram } from './histogram.ts';
import { defineMetrics, type MetricSource } from './metric.ts';

export interface RequestMeter {
  readonly source: MetricSource;
  count(request: AnsweredRequest): void;
}

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

export function createRequestMeter(): RequestMeter {
  const durations = createHistogram({ labels: ['route', 'method'], buckets });
  // Its buckets are not told: of each class of answers only the number.
  const answers = createHistogram({ labels: ['route', 'method', 'status'], buckets: [] });
  return {
    count({ route, method, status, seconds }) {
      const known = methods.has(method) ? method : 'other';
      durations.observe(seconds, route, known);
      answers.observe(0, route, known, `${Math.floor(status / 100)}xx`);
    },
    source: defineMetrics({
      name: 'requests',
      metrics: {
        paywright_http_requests_total: {
          type: 'counter',
          help: 'Requests that were answered, by pattern of the route, method and class of the status.',
        },
        paywright_http_request_seconds: {
          type: 'histogram',
          help: 'How long requests took until the last byte was sent, by pattern of the route and method.',
        },
      },
      maxAgeMs: 0,
      read: () => ({
        paywright_http_requests_total: answers
          .samples()
          .flatMap(({ suffix, ...sample }) => (suffix === '_count' ? [sample] : [])),
        paywright_http_request_seconds: durations.samples(),
      }),
    }),
  };
}
