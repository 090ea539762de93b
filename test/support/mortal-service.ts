import { spawn } from 'node:child_process';
import { afterAll, inject } from 'vitest';
import { bundledService } from './bundled-service.ts';
import { type Client, createClient } from './client.ts';
import type { TestDatabase } from './database.ts';
import { freePort } from './process.ts';

/** It lives for a second or two, most of which goes into loading its code: compiling that well would not pay any more. */
const flags = ['--no-opt', '--max-lazy', '--preserve-symlinks', '--preserve-symlinks-main'];

/** As many connections as it is given it opens while it starts, and each is a process of PostgreSQL. */
const connections = '4';

/** The built service in a process of its own, which ends as a power cut would end it. */
export interface MortalService {
  readonly url: string;
  readonly client: Client;
  /** The signal that ended it, or its exit code. */
  readonly ended: Promise<string | number | null>;
  kill(): Promise<void>;
}

export interface MortalOptions {
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Starts a service on this database that ends at the checkpoint of this name, as often as it is called. Whatever is still
 * alive when the test file is done is ended then.
 */
export function useMortalServices(
  { url }: TestDatabase,
  options: () => MortalOptions = () => ({}),
): (endAt: string) => Promise<MortalService> {
  const services: MortalService[] = [];
  afterAll(() => Promise.all(services.map((service) => service.kill())));

  return async (endAt) => {
    const port = await freePort();
    const child = spawn(process.execPath, [...flags, await bundledService()], {
      env: {
        PATH: process.env['PATH'],
        DATABASE_URL: url,
        DATA_DIR: inject('dataDir'),
        PORT: String(port),
        END_AT: endAt,
        DATABASE_POOL_SIZE: connections,
        ...options().env,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = new Promise<string | number | null>((resolve) =>
      child.once('exit', (code, signal) => resolve(signal ?? code)),
    );
    const ready = new Promise<'ready'>((resolve) => child.stdout.on('data', () => resolve('ready')));
    const service: MortalService = {
      url: `http://127.0.0.1:${port}`,
      client: createClient(`http://127.0.0.1:${port}`),
      ended,
      async kill() {
        child.kill('SIGKILL');
        await ended;
      },
    };
    services.push(service);
    // A service that takes up what another has left may be ended before it is ready.
    await Promise.race([ready, ended]);
    return service;
  };
}
