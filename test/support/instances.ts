import { type Client, createClient } from './client.ts';
import { begin, freePort, temporaryDataDir } from './process.ts';

/** A service in a process of its own that shares its database with others, and comes back at the same address after a kill. */
export interface Instance {
  readonly client: Client;
  /** Everything that it has printed since it was started the last time. */
  output(): string;
  kill(): Promise<void>;
  killAndRestart(): Promise<void>;
}

/**
 * If they only serve, sagas are opened and wait: nothing reads a chain or runs a job then. Instances end with the test.
 */
export async function startInstances(
  count: number,
  databaseUrl: string,
  env: Readonly<Record<string, string>> = {},
  role: 'start' | 'serve' = 'serve',
): Promise<readonly Instance[]> {
  // The first one prepares what all of them share.
  const first = await startInstance(databaseUrl, env, role);
  const others = Array.from({ length: count - 1 }, () => startInstance(databaseUrl, env, role));
  return [first, ...(await Promise.all(others))];
}

const unlimited = {
  RATE_LIMIT_FREE_PER_MINUTE: '0',
  RATE_LIMIT_PRO_PER_MINUTE: '0',
  RATE_LIMIT_ANONYMOUS_PER_MINUTE: '0',
};

async function startInstance(
  databaseUrl: string,
  env: Readonly<Record<string, string>>,
  role: string,
): Promise<Instance> {
  const port = await freePort();
  const dataDir = temporaryDataDir();
  const start = async () => {
    const started = begin([role], {
      dataDir,
      env: { DATABASE_URL: databaseUrl, PORT: String(port), LOG_LEVEL: 'fatal', ...unlimited, ...env },
    });
    await readiness(started);
    return started;
  };
  let running = await start();
  const kill = async () => {
    running.child.kill('SIGKILL');
    await running.ended;
  };
  return {
    client: createClient(`http://127.0.0.1:${port}`),
    output: () => running.output(),
    kill,
    async killAndRestart() {
      await kill();
      running = await start();
    },
  };
}

function readiness({ child, output, ended }: ReturnType<typeof begin>): Promise<void> {
  return new Promise((resolve, reject) => {
    child.stdout.on('data', () => {
      if (output().includes('Paywright is ready')) resolve();
    });
    void ended.then(() => reject(new Error(`the service did not start:\n${output()}`)));
  });
}
