import type { PasswordCost } from '../accounts/passwords/passwords.ts';
import type { CallLimits } from '../custody/adapters/circle/circle-client.ts';
import { refuseTakenPort } from '../kernel/http/listen.ts';
import type { Logger } from '../kernel/log/logger.ts';
import type { Checkpoint } from '../kernel/sagas/checkpoint.ts';
import type { Config } from './config.ts';
import { layFoundation } from './foundation.ts';
import type { ListedFeature } from './listed-feature.ts';
import { refuseTakenOperatorPort, startOperatorPort } from './operator-port.ts';
import { startServing } from './serving.ts';
import { startWorking } from './working.ts';

/** What a process does: answer requests, run jobs, or both. */
export interface Roles {
  readonly serve: boolean;
  readonly work: boolean;
}

export interface RunOptions {
  readonly config: Config;
  readonly logger: Logger;
  readonly roles: Roles;
  /** Progress for the person at the terminal. */
  readonly say: (line: string) => void;
  /** Called between the steps of sagas; a test ends the process there. */
  readonly checkpoint?: Checkpoint;
  /** A test hashes passwords at the lowest cost. No setting can do that. */
  readonly passwordCost?: PasswordCost;
  /** A test does not wait for Circle as long as a job may. No setting can do that. */
  readonly circleLimits?: Partial<CallLimits>;
  /** All of them, unless a test brings its own list. */
  readonly features?: readonly ListedFeature[];
}

export interface RunningPaywright {
  /** Undefined for a process that only works. */
  readonly publicUrl: string | undefined;
  /** Where /metrics is; undefined where it is off. */
  readonly operatorPort: number | undefined;
  /** Finishes what is under way, then ends everything that was started, in reverse. */
  stop(): Promise<void>;
}

/** The composition root: configuration → adapters → features → HTTP and jobs. Only it and its parts pick implementations. */
export async function runPaywright(options: RunOptions): Promise<RunningPaywright> {
  const { config, logger, roles } = options;
  const closers: (() => Promise<unknown>)[] = [];
  const stop = async () => {
    for (const close of closers.splice(0).reverse()) {
      await close().catch((err: unknown) => logger.error({ err }, 'stopping left something behind'));
    }
  };

  try {
    if (roles.serve) await refuseTakenPort(config);
    await refuseTakenOperatorPort(config);
    const foundation = await layFoundation({ ...options, mayJoin: !roles.serve, closers });
    const work = roles.work ? await startWorking(foundation) : undefined;
    const publicUrl = roles.serve
      ? await startServing(foundation, { worker: work, passwordCost: options.passwordCost })
      : undefined;
    return { publicUrl, operatorPort: await startOperatorPort(foundation), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
