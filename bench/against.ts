import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { answerOf, load, type Server } from './http.ts';
import { describeMeasured, type Measured, middle } from './measure.ts';
import type { SideReport } from './side-process.ts';

const asked = {
  'transfers, 256 connections': { connections: 256, path: '/api/agent/transfer', method: 'POST' },
  'transfers, 64 connections': { connections: 64, path: '/api/agent/transfer', method: 'POST' },
  'transfers, 1 connection': { connections: 1, path: '/api/agent/transfer', method: 'POST' },
  'balance, 64 connections': { connections: 64, path: '/api/circle/balance', method: 'GET' },
  'history, 64 connections': { connections: 64, path: '/api/circle/transfers', method: 'GET' },
} as const;

type Side = Server & Pick<SideReport, 'people'>;

/** This version and another one, each with a server and a PostgreSQL of its own, in turns. */
export async function measureAgainst(
  otherTree: string,
  { seconds, repeats, say }: { seconds: number; repeats: number; say: (line: string) => void },
) {
  say('Preparing both sides …');
  const sides: { here?: Side; there?: Side } = {};
  try {
    sides.there = await startSide(join(otherTree, 'dist-bench/bench/side-process.js'));
    sides.here = await startSide(fileURLToPath(new URL('./side-process.js', import.meta.url)));
    const { here, there } = sides;
    for (const side of [here, there]) {
      await load(side, { ...asked['transfers, 64 connections'], seconds: 0, people: side.people, everybodyOnce: true });
    }
    const figures: Record<string, { here: Measured[]; there: Measured[] }> = {};
    for (let round = 1; round <= repeats; round++) {
      say(`Round ${round} of ${repeats} …`);
      for (const [name, request] of Object.entries(asked)) {
        figures[name] ??= { here: [], there: [] };
        const both = figures[name];
        const measure = async (side: 'here' | 'there', { people, ...server }: Side) =>
          both[side].push(await load(server, { ...request, seconds, people }));
        // Who goes first changes with every round.
        if (round % 2 === 1) await measure('there', there);
        await measure('here', here);
        if (round % 2 === 0) await measure('there', there);
      }
    }
    return Object.fromEntries(
      Object.entries(figures).map(([name, { here, there }]) => [
        name,
        { here: middleOf(here), there: middleOf(there), ratios: ratiosOf(middleOf(here), middleOf(there)) },
      ]),
    );
  } finally {
    for (const side of Object.values(sides)) await side.stop();
  }
}

export type AgainstFigures = Awaited<ReturnType<typeof measureAgainst>>;

async function startSide(script: string): Promise<Side> {
  if (!existsSync(script))
    throw new Error('That commit is from before the comparison of two versions: choose a later one.');
  const child = fork(script);
  const report = await answerOf<SideReport>(child);
  return {
    ...report,
    resources: () => Promise.reject(new Error('not asked of a side')),
    async stop() {
      child.disconnect();
      await once(child, 'exit');
    },
  };
}

function middleOf(runs: readonly Measured[]): Required<Measured> {
  const of = (figure: (one: Measured) => number) => middle(runs.map(figure));
  return {
    transfersPerSecond: of((one) => one.transfersPerSecond),
    p50Ms: of((one) => one.p50Ms),
    p99Ms: of((one) => one.p99Ms),
    cpu: { serverUs: of((one) => one.cpu?.serverUs ?? 0), postgresUs: of((one) => one.cpu?.postgresUs ?? 0) },
  };
}

/** Above 1 is better here, for each of them. */
function ratiosOf(here: Required<Measured>, there: Required<Measured>): Record<string, number> {
  return {
    rate: here.transfersPerSecond / there.transfersPerSecond,
    p50: there.p50Ms / here.p50Ms,
    p99: there.p99Ms / here.p99Ms,
    'server CPU': there.cpu.serverUs / here.cpu.serverUs,
    'PostgreSQL CPU': there.cpu.postgresUs / here.cpu.postgresUs,
  };
}

export function printAgainst(figures: AgainstFigures, commit: string): void {
  const lines = Object.entries(figures).flatMap(([name, { here, there, ratios }]) => [
    `${name.padEnd(28)} here  ${describeMeasured(here)}`,
    `${''.padEnd(28)} there ${describeMeasured(there)}`,
    `${''.padEnd(28)} ratio ${Object.entries(ratios)
      .map(([figure, value]) => `${figure} ${value.toFixed(2)}`)
      .join('   ')}`,
  ]);
  process.stdout.write(`\nThis version against ${commit}; a ratio above 1 is better here.\n\n${lines.join('\n')}\n`);
}
