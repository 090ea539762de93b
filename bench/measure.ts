import type { CpuPerThing } from './cpu.ts';

/** What a benchmark says of one way to make transfers. */
export interface Measured {
  readonly transfersPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** What each cost in CPU, where it is known. */
  readonly cpu?: CpuPerThing;
}

/** `elapsedMs` is the time in which `transfers` were made; `latenciesMs` are those of single calls. */
export function summarise(transfers: number, elapsedMs: number, latenciesMs: readonly number[]): Measured {
  const sorted = latenciesMs.toSorted((left, right) => left - right);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return { transfersPerSecond: Math.round((transfers / elapsedMs) * 1_000), p50Ms: at(0.5), p99Ms: at(0.99) };
}

/** Of several runs the one in the middle, by throughput. */
export function median(runs: readonly Measured[]): Measured {
  const sorted = runs.toSorted((left, right) => left.transfersPerSecond - right.transfersPerSecond);
  const middle = sorted[sorted.length >> 1];
  if (middle === undefined) throw new Error('nothing was measured');
  return middle;
}

/** Interleaved, so that whatever else the machine does meets all of them alike; of each the middle run counts. */
export async function inTurns(
  { repeats, say }: { readonly repeats: number; readonly say: (line: string) => void },
  ways: Readonly<Record<string, () => Promise<Measured>>>,
): Promise<Record<string, Measured>> {
  const runs: Record<string, Measured[]> = {};
  for (let round = 1; round <= repeats; round++) {
    say(`Round ${round} of ${repeats} …`);
    for (const [name, measure] of Object.entries(ways)) runs[name] = [...(runs[name] ?? []), await measure()];
  }
  return Object.fromEntries(Object.entries(runs).map(([name, all]) => [name, median(all)]));
}

export function describeMeasured({ transfersPerSecond, p50Ms, p99Ms, cpu }: Measured): string {
  const perSecond = transfersPerSecond.toLocaleString('en').padStart(8);
  const latencies = `p50 ${p50Ms.toFixed(2).padStart(7)} ms   p99 ${p99Ms.toFixed(2).padStart(7)} ms`;
  return `${perSecond}/s   ${latencies}${cpu === undefined ? '' : `   ${describeCpu(cpu)}`}`;
}

function describeCpu({ serverUs, postgresUs }: CpuPerThing): string {
  return `CPU ${serverUs.toFixed(0).padStart(4)} + ${postgresUs.toFixed(0).padStart(4)} us`;
}

export function middle(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
}
