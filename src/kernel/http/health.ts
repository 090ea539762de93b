import type { FastifyInstance } from 'fastify';
import { type Clock, monotonicClock, within } from '../clock.ts';

/**
 * What the service needs in order to answer. A check rejects when it fails. It resolves to the names of parts that are
 * unavailable but do not stop the service from answering.
 */
export type ReadinessChecks = Readonly<Record<string, () => Promise<readonly string[]>>>;

interface CheckResult {
  readonly name: string;
  readonly passed: boolean;
  readonly away: readonly string[];
}

export type Readiness = () => Promise<readonly CheckResult[]>;

const checkTimeoutMs = 3_000;

/** However many clients ask, the checks run at most once a second. */
const rememberedMs = 1_000;

export function createReadiness(checks: ReadinessChecks, clock: Clock = monotonicClock): Readiness {
  let looked: { readonly at: number; readonly results: Promise<readonly CheckResult[]> } | undefined;
  return () => {
    if (looked === undefined || clock.now() - looked.at >= rememberedMs) {
      looked = {
        at: clock.now(),
        results: Promise.all(Object.entries(checks).map(async ([name, check]) => ({ name, ...(await look(check)) }))),
      };
    }
    return looked.results;
  };
}

/** For load balancers: /health says that the process is alive, /ready that it can serve requests. */
export function addHealth(app: FastifyInstance, readiness: Readiness): void {
  app.get('/health', async () => ({ status: 'ok' }));
  app.get('/ready', async (_request, reply) => {
    const results = await readiness();
    const ready = results.every(({ passed }) => passed);
    const impaired = results.filter(({ away }) => away.length > 0);
    return reply.code(ready ? 200 : 503).send({
      status: ready ? 'ready' : 'not ready',
      checks: Object.fromEntries(results.map((result) => [result.name, wordFor(result)])),
      ...(impaired.length > 0 && { away: Object.fromEntries(impaired.map(({ name, away }) => [name, away])) }),
    });
  });
}

function wordFor({ passed, away }: CheckResult): string {
  if (!passed) return 'failing';
  return away.length === 0 ? 'ok' : 'impaired';
}

function look(check: ReadinessChecks[string]): Promise<Omit<CheckResult, 'name'>> {
  const failed = { passed: false, away: [] };
  const looking = check().then(
    (away) => ({ passed: true, away }),
    () => failed,
  );
  return within(checkTimeoutMs, looking, () => failed);
}
