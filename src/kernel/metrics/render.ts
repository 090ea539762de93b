import type { MetricKind, Readings, Sample } from './metric.ts';

export const metricsContentType = 'text/plain; version=0.0.4; charset=utf-8';

/** Prometheus's text format. A metric without samples has no lines. */
export function renderMetrics(metrics: Readonly<Record<string, MetricKind>>, readings: Readings): string {
  return Object.entries(metrics)
    .map(([name, kind]) => {
      const read = readings[name] ?? [];
      const samples = typeof read === 'number' ? [{ value: read }] : read;
      if (samples.length === 0) return '';
      const head = `# HELP ${name} ${escapeHelp(kind.help)}\n# TYPE ${name} ${kind.type}\n`;
      return head + samples.map((sample) => renderSample(name, sample)).join('');
    })
    .join('');
}

function renderSample(name: string, { value, labels = {}, suffix }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
  return `${name}${suffix ?? ''}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${renderNumber(value)}\n`;
}

function renderNumber(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value);
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

function escapeLabel(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"');
}
