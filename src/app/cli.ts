import { randomBytes } from 'node:crypto';
import { Command } from 'commander';
import { type GivenCommand, noteCommand } from '../accounts/audit/note-command.ts';
import { operatorName } from '../accounts/audit/operator-name.ts';
import { recordAudit } from '../accounts/audit/record.ts';
import { type Database, isUnavailable } from '../kernel/db/database.ts';
import { OutcomeUnknown } from '../kernel/db/outcome-unknown.ts';
import type { CommandTools } from '../kernel/feature.ts';
import { createLogger, type Logger } from '../kernel/log/logger.ts';
import { Refusal } from '../kernel/refusal.ts';
import { openSecrets } from '../kernel/secrets/open-secrets.ts';
import type { Config } from './config.ts';
import { features } from './features.ts';
import { readGivenSecrets } from './given-secrets.ts';
import { hooksOf, type ListedFeature, ownSettings, sagasOf, sealedOf } from './listed-feature.ts';
import type { Roles, RunningPaywright } from './main.ts';
import { migrateDatabase } from './migrate-database.ts';
import type { CommandParts } from './parts.ts';
import { readConfig } from './read-config.ts';
import { askOnTerminal, resetSandbox } from './reset-sandbox.ts';
import { runRotation } from './run-rotation.ts';
import { tellToStartOver } from './start-over.ts';
import { openStore, openStoreDatabase } from './store.ts';
import { welcome } from './welcome.ts';

const drainTimeoutMs = 15_000;

const say = (line: string) => void process.stdout.write(`${line}\n`);

/**
 * The `paywright` command. `startedBy` is the process that started us, as it was before any preparation. Every failure that a person can mend is one sentence and exit code 1.
 */
export async function main(
  argv: readonly string[],
  startedBy: number,
  list: readonly ListedFeature[] = features,
): Promise<void> {
  const program = new Command('paywright')
    .description('A stablecoin payment service for AI agents and the people who own them')
    .showHelpAfterError();

  program
    .command('start')
    .description('serve and work in one process: all that is needed')
    .action(() => run({ serve: true, work: true }, startedBy, list));
  program
    .command('serve')
    .description('answer requests only')
    .action(() => run({ serve: true, work: false }, startedBy, list));
  program
    .command('work')
    .description('run jobs only')
    .action(() => run({ serve: false, work: true }, startedBy, list));
  program
    .command('migrate')
    .description('bring the database to the schema of this release')
    .action(() =>
      withStore(list, async ({ config, url, logger }) => {
        await migrateDatabase({ config, url, features: list, logger, say }).catch((error: unknown) => {
          throw tellToStartOver(error, config);
        });
      }),
    );
  program
    .command('reset')
    .description('delete the sandbox in DATA_DIR, with all its play money; the next start makes a new one')
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
    .description('print a new secret for PAYWRIGHT_SECRET; it is kept nowhere')
    .action(() => say(randomBytes(32).toString('base64')));
  program
    .command('rotate-secret')
    .description('seal everything with PAYWRIGHT_SECRET that PAYWRIGHT_SECRET_OLD has sealed')
    .action(() =>
      withStore(list, async ({ config, db, url }) => {
        await runRotation({ config, db, url, features: list, say });
        await recordAudit(db, {
          accountId: null,
          action: 'secret.rotated',
          by: { operator: operatorName(process.env) },
        });
      }),
    );
  let given: GivenCommand = { name: '', words: argv.slice(2) };
  program.hook('preAction', (_, command) => {
    given = { ...given, name: command.name() };
  });
  for (const feature of list)
    feature.commands?.(
      program,
      toolsFor(feature, list, () => given),
    );

  try {
    await program.parseAsync(argv);
  } catch (error) {
    process.stderr.write(`${explain(error)}\n`);
    process.exit(1);
  }
}

async function run(roles: Roles, startedBy: number, list: readonly ListedFeature[]): Promise<void> {
  const config = readConfig(process.env, list);
  const logger = createLogger(config.logLevel);
  // Loaded only now: a wrong setting is told at once, and other commands need none of it.
  const { runPaywright } = await import('./main.ts');
  const starting = runPaywright({ config, logger, roles, say, features: list });
  stopOnSignal(starting, logger, startedBy);
  const { publicUrl } = await starting;
  if (publicUrl === undefined) say('Paywright is working on jobs. Ctrl-C stops it.');
  else say(welcome(config, publicUrl));
}

/** The first Ctrl-C or SIGTERM finishes open requests and stops cleanly; a second one does not wait. */
function stopOnSignal(starting: Promise<RunningPaywright>, logger: Logger, startedBy: number): void {
  let stoppingSince: number | undefined;
  const onSignal = async () => {
    if (stoppingSince !== undefined) {
      // One Ctrl-C may reach us twice, through the terminal and through whoever passes it on.
      if (performance.now() - stoppingSince > 1_000) process.exit(1);
      return;
    }
    stoppingSince = performance.now();
    setTimeout(() => {
      logger.error('stopping took too long');
      process.exit(1);
    }, drainTimeoutMs).unref();
    const running = await starting.catch(() => undefined);
    await running?.stop();
    logger.flush(() => process.exit(0));
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void onSignal());

  // npm passes on no signal that only npm was sent: when it ends, its child stops by itself instead of living on unseen.
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
        await noteCommand(db, operator, given());
        await work(db, ownSettings(config, feature));
      }),
    withSecrets: (work) =>
      withStore(list, async ({ db, config, url, logger }) => {
        const { secrets, close } = await openSecrets({
          db,
          url,
          logger,
          given: await readGivenSecrets(config, db),
          sealed: sealedOf(list),
        });
        try {
          await noteCommand(db, operator, given());
          await work({ db, secrets }, ownSettings(config, feature));
        } finally {
          await close();
        }
      }),
    withMoney: (work) =>
      withCustody(list, async (parts, config) => {
        await noteCommand(parts.db, operator, given());
        await work(parts, ownSettings(config, feature));
      }),
    say,
    operator,
    sagas: sagasOf(list),
    gatherHook: hooksOf(list),
  };
}

interface OpenedStore {
  readonly config: Config;
  readonly logger: Logger;
  readonly url: string;
  readonly db: Database;
}

async function withStore(list: readonly ListedFeature[], work: (store: OpenedStore) => Promise<void>): Promise<void> {
  const config = readConfig(process.env, list);
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
  work: (parts: CommandParts, config: Config) => Promise<void>,
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
  if (error instanceof OutcomeUnknown) return 'The connection was lost while writing: look whether it happened.';
  if (isUnavailable(error)) return 'The database does not answer: check DATABASE_URL, or try again in a moment.';
  if (code === 'ENOSPC') return `The disk is full: there is no room left to write ${path ?? 'files'}.`;
  if (code === 'EACCES' || code === 'EROFS') return `There is no permission to use ${path ?? 'a file that is needed'}.`;
  if (code?.startsWith('28')) return 'The database refuses the user or password in DATABASE_URL.';
  if (code === '42P01') return 'The database is not set up yet: run "paywright migrate", or start the service once.';
  if (code === '42501') {
    return 'The role in DATABASE_URL may not do this: run "paywright migrate" with MIGRATION_DATABASE_URL first.';
  }
  if (code === '3D000') return 'The database named in DATABASE_URL does not exist.';
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
