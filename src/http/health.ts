import type { FastifyInstance } from 'fastify';

/** What the service needs in order to answer; each check resolves when all is well. */
export type ReadinessChecks = Readonly<Record<string, () => Promise<void>>>;

/** Each check, and whether it has passed just now. */
export type Readiness = () => Promise<readonly { readonly name: string; readonly passed: boolean }[]>;

const checkTimeoutMs = 3_000;

export function createReadiness(checks: ReadinessChecks): Readiness {
  return () =>
    Promise.all(Object.entries(checks).map(async ([name, check]) => ({ name, passed: await passes(check) })));
}

/** For load balancers: /health says that the process lives, /ready that it can do its work. */
export function addHealth(app: FastifyInstance, readiness: Readiness): void {
  app.get('/health', async () => ({ status: 'ok' }));
  app.get('/ready', async (_request, reply) => {
    const results = await readiness();
    const ready = results.every(({ passed }) => passed);
    return reply.code(ready ? 200 : 503).send({
      status: ready ? 'ready' : 'not ready',
      checks: Object.fromEntries(results.map(({ name, passed }) => [name, passed ? 'ok' : 'failing'])),
    });
  });
}

async function passes(check: () => Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, checkTimeoutMs, false);
  });
  const passed = check().then(
    () => true,
    () => false,
  );
  return Promise.race([passed, tooLate]).finally(() => clearTimeout(timer));
}
