import { randomBytes } from 'node:crypto';
import { Command } from 'commander';
import { type GivenCommand, operatorName, recordAudit, recordCommand } from '../accounts/audit/record.ts';
import { type Database, isUnavailable } from '../kernel/db/database.ts';
import { OutcomeUnknown } from '../kernel/db/errors.ts';
import type { CommandTools } from '../kernel/feature.ts';
import { createLogger, type Logger } from '../kernel/log/logger.ts';
import { Refusal } from '../kernel/refusal.ts';
import { rotateSecret } from '../kernel/secrets/rotate-secret.ts';
import type { CommandOptions } from './custody.ts';
import { migrateDatabase, openOwner, openStore, openStoreDatabase, openStoreSecrets, useDatabase } from './database.ts';
import { explainForeignSchema } from './explain-foreign-schema.ts';
import { features } from './features.ts';
import { readGivenSecrets } from './given-secrets.ts';
import { hooksOf, type ListedFeature, ownSettings, sagasOf, sealedOf } from './listed-feature.ts';
import type { Roles, RunningPaywright } from './main.ts';
import type { CommandParts } from './parts.ts';
import { readSettings } from './read-settings.ts';
import { askOnTerminal, resetSandbox } from './reset-sandbox.ts';
import type { ServiceSettings } from './settings.ts';

interface RotationOptions {
  readonly config: ServiceSettings;
  readonly db: Database;
  readonly url: string;
  readonly features: readonly ListedFeature[];
  readonly say: (line: string) => void;
}

/** `paywright rotate-secret`. The service keeps running. */
export async function runRotation({ config, db, url, features, say }: RotationOptions): Promise<void> {
  const { current, old } = await readGivenSecrets(config, db);
  if (old === undefined) {
    throw new Refusal('PAYWRIGHT_SECRET_OLD is missing: set it to the secret that PAYWRIGHT_SECRET replaces.');
  }
  await rotateSecret({ db, url, old, fresh: current, sealed: sealedOf(features), say });
  say('Everything is sealed with the new secret. Restart every process with PAYWRIGHT_SECRET only.');
}

/** Open requests get ten seconds of it (`kernel/http/listen.ts`), and running jobs the rest. Most supervisors kill a process after thirty. */
const drainTimeoutMs = 25_000;

const say = (line: string) => void process.stdout.write(`${line}\n`);

/**
 * The operator's commands of `paywright`; src/cli/ has those of users. `startedBy` is the parent process id, read before any
 * preparation. An error that the operator can fix is one sentence and exit code 1.
 */
export async function main(
  argv: readonly string[],
  startedBy: number,
  list: readonly ListedFeature[] = features,
): Promise<void> {
  try {
    await createProgram({ words: argv.slice(2), startedBy, list }).parseAsync(argv);
  } catch (error) {
    process.stderr.write(`${explain(error)}\n`);
    process.exit(1);
  }
}

interface ProgramOptions {
  /** The words of the command, for the audit log. */
  readonly words?: readonly string[];
  readonly startedBy?: number;
  readonly list?: readonly ListedFeature[];
}

/** The commands as they are declared. Nothing is opened before one of them runs. */
export function createProgram({ words = [], startedBy = process.ppid, list = features }: ProgramOptions = {}): Command {
  const program = new Command('paywright')
    .description('A stablecoin payment service for AI agents and the people who own them')
    .showHelpAfterError();

  const addRole = (name: string, description: string, roles: Roles) =>
    program
      .command(name)
      .description(description)
      .action(() => run(roles, startedBy, list));
  addRole('start', 'serve requests and run jobs in one process', { serve: true, work: true });
  addRole('serve', 'serve requests only', { serve: true, work: false });
  addRole('work', 'run jobs only', { serve: false, work: true });
  program
    .command('migrate')
    .description('migrate the database to the schema of this release')
    .action(() =>
      withStore(list, async ({ config, url, logger }) => {
        await migrateDatabase({ config, url, features: list, logger, say }).catch((error: unknown) => {
          throw explainForeignSchema(error, config);
        });
      }),
    );
  program
    .command('reset')
    .description('delete the sandbox in DATA_DIR, with all its play money; the next start creates a new one')
    .option('--yes', 'do not ask')
    .action(({ yes }: { yes?: true }) =>
      resetSandbox({
        env: process.env,
        features: list,
        say,
        confirm: async () => yes ?? (await askOnTerminal('Delete it? [y/N] ')),
      }),
    );
  program
    .command('secret')
    .description('print a new secret for PAYWRIGHT_SECRET; it is not stored')
    .action(() => say(randomBytes(32).toString('base64')));
  program
    .command('rotate-secret')
    .description('reseal everything from PAYWRIGHT_SECRET_OLD to PAYWRIGHT_SECRET')
    .action(() =>
      withStore(list, async ({ config, db, url }) => {
        await runRotation({ config, db, url, features: list, say });
        const by = { operator: operatorName(process.env) };
        await recordAudit(db, { accountId: null, action: 'secret.rotated', by });
      }),
    );
  let given: GivenCommand = { name: '', words };
  program.hook('preAction', (_, command) => {
    given = { ...given, name: command.name() };
  });
  const command = () => given;
  for (const feature of list) feature.commands?.(program, toolsFor(feature, list, command));
  return program;
}

async function run(roles: Roles, startedBy: number, list: readonly ListedFeature[]): Promise<void> {
  const config = readSettings(process.env, list);
  const logger = createLogger(config.logLevel);
  // Loaded late, so that a wrong setting is reported at once and other commands do not load it.
  const { runPaywright } = await import('./main.ts');
  const starting = runPaywright({ config, logger, roles, say, features: list });
  stopOnSignal(starting, logger, startedBy);
  const { publicUrl } = await starting;
  if (publicUrl === undefined) say('Paywright is running jobs. Press Ctrl-C to stop.');
  else say(welcome(config, publicUrl));
}

/** The first Ctrl-C or SIGTERM finishes open requests and stops cleanly; a second one exits at once. */
function stopOnSignal(starting: Promise<RunningPaywright>, logger: Logger, startedBy: number): void {
  let stoppingSince: number | undefined;
  const onSignal = async () => {
    if (stoppingSince !== undefined) {
      // One Ctrl-C may arrive twice, from the terminal and from a parent that forwards it.
      if (performance.now() - stoppingSince > 1_000) process.exit(1);
      return;
    }
    stoppingSince = performance.now();
    setTimeout(() => {
      logger.error('stopping took too long; exiting');
      process.exit(1);
    }, drainTimeoutMs).unref();
    const running = await starting.catch(() => undefined);
    await running?.stop();
    logger.flush(() => process.exit(0));
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void onSignal());

  // npm does not forward signals to its child, so the service stops itself when npm has ended.
  if (process.env['npm_lifecycle_event'] === undefined) return;
  const watch = setInterval(() => {
    if (process.ppid === startedBy) return;
    clearInterval(watch);
    void onSignal();
  }, 250).unref();
}

function toolsFor(
  feature: ListedFeature,
  list: readonly ListedFeature[],
  given: () => GivenCommand,
): CommandTools<never, CommandParts> {
  const operator = operatorName(process.env);
  return {
    withDatabase: (work) =>
      withStore(list, async ({ db, config }) => {
        await recordCommand(db, operator, given());
        await work(db, ownSettings(config, feature));
      }),
    withOwner: (work) =>
      withStore(list, async ({ db, config, url, logger }) => {
        await recordCommand(db, operator, given());
        const ownerUrl = await openOwner(config, url);
        await useDatabase(ownerUrl, logger, (owner) => work({ db: owner, url: ownerUrl }));
      }),
    withSecrets: (work) =>
      withStore(list, async (store) => {
        const { db, config } = store;
        const { secrets, close } = await openStoreSecrets(store, list);
        try {
          await recordCommand(db, operator, given());
          await work({ db, secrets }, ownSettings(config, feature));
        } finally {
          await close();
        }
      }),
    withMoney: (work) =>
      withCustody(list, async (parts, config) => {
        await recordCommand(parts.db, operator, given());
        await work(parts, ownSettings(config, feature));
      }),
    say,
    confirm: askOnTerminal,
    operator,
    sagas: sagasOf(list),
    gatherHook: hooksOf(list),
  };
}

type OpenedStore = Omit<CommandOptions, 'features'>;

async function withStore(list: readonly ListedFeature[], work: (store: OpenedStore) => Promise<void>): Promise<void> {
  const config = readSettings(process.env, list);
  const logger = createLogger('error');
  const store = await openStore({ config, logger, say: () => {}, mayJoin: true });
  const db = openStoreDatabase(store, config, logger);
  try {
    await work({ config, logger, url: store.url, db });
  } finally {
    await db.close();
    await store.close();
  }
}

async function withCustody(
  list: readonly ListedFeature[],
  work: (parts: CommandParts, config: ServiceSettings) => Promise<void>,
): Promise<void> {
  await withStore(list, async (store) => {
    const { openCommandParts } = await import('./custody.ts');
    const { parts, close } = await openCommandParts({ ...store, features: list });
    try {
      await work(parts, store.config);
    } finally {
      await close();
    }
  });
}

function explain(error: unknown): string {
  if (error instanceof Refusal) return error.message;
  const { code, path } = error as NodeJS.ErrnoException;
  if (error instanceof OutcomeUnknown)
    return 'The connection was lost during the commit: check whether the change was made.';
  if (isUnavailable(error)) return 'The database does not answer: check DATABASE_URL, or try again in a moment.';
  if (code === 'ENOSPC') return `The disk is full: cannot write ${path ?? 'files'}.`;
  if (code === 'EACCES' || code === 'EROFS') return `No permission to use ${path ?? 'a required file'}.`;
  if (code?.startsWith('28')) return 'The database refuses the user or password in DATABASE_URL.';
  if (code === '42P01') return 'The database is not set up yet: run "paywright migrate", or start the service once.';
  if (code === '42501') {
    return 'The role in DATABASE_URL lacks a privilege for this: run "paywright migrate" with MIGRATION_DATABASE_URL first.';
  }
  if (code === '3D000') return 'The database named in DATABASE_URL does not exist.';
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function welcome({ mode, dataDir, databaseUrl }: ServiceSettings, publicUrl: string): string {
  if (mode === 'live') return `Paywright is live at ${publicUrl}/api`;
  return `
  Paywright is ready. This is a sandbox: the money is not real.

    API        ${publicUrl}/api
    Reference  ${publicUrl}/docs
    State      ${databaseUrl === undefined ? dataDir : 'in the database that DATABASE_URL names'}

  Open an account:

    curl -s ${publicUrl}/api/agent/register \\
      -H 'Content-Type: application/json' \\
      -d '{"email":"ada@example.com","password":"correct horse","name":"Ada"}'

  Press Ctrl-C to stop. LOG_LEVEL=info logs every request.
`;
}
