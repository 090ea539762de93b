import type { PasswordCost } from '../accounts/passwords/passwords.ts';
import { refuseTakenPort } from '../kernel/http/listen.ts';
import { type FoundationOptions, layFoundation } from './foundation.ts';
import { refuseTakenOperatorPort, startOperatorPort } from './operator-port.ts';
import { startServing } from './serving.ts';
import { startWorking } from './working.ts';

export interface Roles {
  readonly serve: boolean;
  readonly work: boolean;
}

export interface RunOptions extends Omit<FoundationOptions, 'mayJoin' | 'closers'> {
  readonly roles: Roles;
  /** Tests hash passwords at the lowest cost. No setting can do that. */
  readonly passwordCost?: PasswordCost;
}

export interface RunningPaywright {
  /** Undefined for a process that only runs jobs. */
  readonly publicUrl: string | undefined;
  /** The port of /metrics; undefined when metrics are off. */
  readonly operatorPort: number | undefined;
  /** Finishes open work, then closes everything in reverse order. */
  stop(): Promise<void>;
}

/** The composition root: configuration → adapters → features → HTTP and jobs. Only this folder picks implementations. */
export async function runPaywright(options: RunOptions): Promise<RunningPaywright> {
  const { config, logger, roles } = options;
  const closers: (() => Promise<unknown>)[] = [];
  const stop = async () => {
    for (const close of closers.splice(0).reverse()) {
      await close().catch((err: unknown) => logger.error({ err }, 'a part could not be closed'));
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
