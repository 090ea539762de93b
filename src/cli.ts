import { Command } from 'commander';
import { addAccountCommands } from './accounts/commands.ts';
import { readConfig } from './config.ts';
import type { CustodyCommandParts } from './custody.ts';
import { isUnavailable } from './db/database.ts';
import { migrate } from './db/migrate.ts';
import { OutcomeUnknown } from './db/outcome-unknown.ts';
import { createLogger, type Logger } from './logger.ts';
import type { Roles, RunningPaywright } from './main.ts';
import { Refusal } from './refusal.ts';
import { addReserveCommands } from './reserves/commands.ts';
import { openStore, openStoreDatabase } from './store.ts';
import { addTreasuryCommands } from './treasury/commands.ts';
import { welcome } from './welcome.ts';
import { addWithdrawalCommands } from './withdrawals/commands.ts';

const drainTimeoutMs = 15_000;

const say = (line: string) => void process.stdout.write(`${line}\n`);

/**
 * The `paywright` command. `startedBy` is the process that started us, as it was before any preparation. Every failure that a person can mend is one sentence and exit code 1.
 */
export async function main(argv: readonly string[], startedBy: number): Promise<void> {
  const program = new Command('paywright')
    .description('A stablecoin payment service for AI agents and the people who own them')
    .showHelpAfterError();

  program
    .command('start')
    .description('serve and work in one process: all that is needed')
    .action(() => run({ serve: true, work: true }, startedBy));
  program
    .command('serve')
    .description('answer requests only')
    .action(() => run({ serve: true, work: false }, startedBy));
  program
    .command('work')
    .description('run jobs only')
    .action(() => run({ serve: false, work: true }, startedBy));
  program
    .command('migrate')
    .description('bring the database to the schema of this release')
    .action(() =>
      withStore(async ({ url }) => {
        const { applied } = await migrate(url);
        say(applied.length === 0 ? 'The database is up to date.' : `Applied: ${applied.join(', ')}`);
      }),
    );
  addAccountCommands(program, (work) => withStore(({ db }) => work(db)), say);
  addWithdrawalCommands(program, withCustody, say);
  addTreasuryCommands(program, withCustody, say);
  addReserveCommands(program, withCustody, say);

  try {
    await program.parseAsync(argv);
  } catch (error) {
    process.stderr.write(`${explain(error)}\n`);
    process.exit(1);
  }
}

async function run(roles: Roles, startedBy: number): Promise<void> {
  const config = readConfig(process.env);
  const logger = createLogger(config.logLevel);
  // Loaded only now: a wrong setting is told at once, and other commands need none of it.
  const { runPaywright } = await import('./main.ts');
  const starting = runPaywright({ config, logger, roles, say });
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

async function withStore(
  work: (store: { url: string; db: ReturnType<typeof openStoreDatabase> }) => Promise<void>,
): Promise<void> {
  const config = readConfig(process.env);
  const logger = createLogger('error');
  const store = await openStore({ config, logger, say: () => {}, mayJoin: true });
  const db = openStoreDatabase(store, config, logger);
  try {
    await work({ url: store.url, db });
  } finally {
    await db.close();
    await store.close();
  }
}

/** For commands about money: with the ledger, the chains and whoever holds the keys. A sandbox has to be running. */
async function withCustody(work: (parts: CustodyCommandParts) => Promise<void>): Promise<void> {
  const config = readConfig(process.env);
  const logger = createLogger('error');
  await withStore(async ({ url, db }) => {
    const { openCommandParts } = await import('./custody.ts');
    const { parts, close } = await openCommandParts({ config, logger, url, db });
    try {
      await work(parts);
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
  if (code === '3D000') return 'The database named in DATABASE_URL does not exist.';
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
