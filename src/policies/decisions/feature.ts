import type { Command } from 'commander';
import { z } from 'zod';
import type { Database, ReadDatabase } from '../../kernel/db/database.ts';
import { lockUntilCommit } from '../../kernel/db/locks.ts';
import { commandGroup, type Feature } from '../../kernel/feature.ts';
import { defineJob, enqueue, handleJob } from '../../kernel/jobs/define-job.ts';
import { startLoop } from '../../kernel/jobs/loop.ts';
import type { Wakes } from '../../kernel/jobs/wakes.ts';
import type { Schedule } from '../../kernel/jobs/worker.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { defineSettings } from '../../kernel/settings.ts';
import { type ChainId, chainIds, homeChain } from '../../money/catalogue.ts';
import { type AnchorParts, type AnchorSagaParts, anchorHandler, anchorSaga, beginAnchor, canAnchor } from './anchor.ts';
import { chainWaiting } from './chain-records.ts';
import { publishRoots } from './prove.ts';
import { decisionRoutes } from './routes.ts';
import { type SealParts, sealRoot } from './seal-root.ts';
import { replaceSigner } from './signing-keys.ts';

export interface DecisionSettings {
  /** How long refusals with one reason are counted together. */
  readonly windowMs: number;
  /** When a root is signed, in cron notation. */
  readonly sealAt: string;
  readonly untilSealed: () => number;
  /** Where roots are anchored. */
  readonly anchorChain: ChainId | undefined;
}

interface ServingParts {
  readonly readDb: ReadDatabase;
  readonly db: Database;
}

interface WorkingParts extends SealParts, AnchorSagaParts {
  readonly logger: Logger;
  readonly wakes: Wakes;
}

interface CommandParts extends SealParts, AnchorParts {}

const sealJob = defineJob({ name: 'seal-decisions', payload: z.unknown(), maxAttempts: 1 });

/** For the operator's command, which has signed a root. */
const anchorJob = defineJob({ name: 'anchor-decisions', payload: z.unknown(), maxAttempts: 5 });

/** The service takes it over from there. */
const anchorDelayMs = 3_000;

const chainEveryMs = 1_000;
/** Nobody waits for the chain, so while payments wait it takes one batch of records at a time. */
const chainWhileBusyMs = 2_000;

/** Every hour, between two snapshots of the reserves. In the sandbox every minute, because people want to see what they have just done. */
const hourly = { sealAt: '17 * * * *', everySeconds: 3_600, fromSeconds: 17 * 60 };
const everyMinute = { sealAt: '* * * * *', everySeconds: 60, fromSeconds: 0 };

/** A root takes a moment after its time. */
const sealingSeconds = 10;

export const decisions: Feature<{
  settings: DecisionSettings;
  serving: ServingParts;
  pages: ServingParts;
  working: WorkingParts;
  commands: CommandParts;
}> = {
  name: 'decisions',
  settings: defineSettings({
    variables: {
      ANCHOR_CHAIN: z.enum([...chainIds, 'none'], { error: `must be one of ${chainIds.join(', ')}, none` }).optional(),
    },
    harmless: ['ANCHOR_CHAIN'],
    docs: {
      room: 'Policies',
      rows: {
        ANCHOR_CHAIN: {
          usual: `\`${homeChain}\` in the sandbox, \`none\` in live mode`,
          does: 'The chain on which the signed root of all decision records is anchored, together with the root of the reserves: at most one transaction an hour without value, from the gas wallet. `none` switches it off. It needs `WALLET_PROVIDER=keys`.',
          change: 'When others should be able to verify, without trusting you, that no record was changed later.',
        },
      },
    },
    read: ({ ANCHOR_CHAIN }, mode) => {
      const { sealAt, everySeconds, fromSeconds } = mode === 'sandbox' ? everyMinute : hourly;
      const chain = ANCHOR_CHAIN ?? (mode === 'sandbox' ? homeChain : 'none');
      return {
        windowMs: mode === 'sandbox' ? 2_000 : 60_000,
        sealAt,
        untilSealed: () =>
          everySeconds - ((Math.floor(Date.now() / 1_000) - fromSeconds) % everySeconds) + sealingSeconds,
        anchorChain: chain === 'none' ? undefined : chain,
      };
    },
    refuseLive({ ANCHOR_CHAIN: chain }, given) {
      if (chain === undefined || chain === 'none') return [];
      return [
        ...(given['WALLET_PROVIDER'] === 'circle'
          ? ['ANCHOR_CHAIN needs WALLET_PROVIDER=keys: Circle’s wallets do not send data of our choice']
          : []),
        ...(given[`RPC_URLS_${chain}`] === undefined
          ? [`ANCHOR_CHAIN names ${chain}, which is off: set RPC_URLS_${chain}`]
          : []),
      ];
    },
  }),
  sealed: [{ purpose: 'decision-keys', columns: [{ table: 'decision_keys', key: ['id'], column: 'sealed' }] }],
  routes: (parts, settings) => decisionRoutes(parts, settings),
  pages: (app, { db }) => {
    app.get('/.well-known/paywright-decisions.json', async (_request, reply) =>
      reply
        .header('Cache-Control', 'public, max-age=60')
        .type('application/json; charset=utf-8')
        .send(JSON.stringify(await publishRoots(db))),
    );
  },
  sagas: [
    {
      saga: anchorSaga,
      handler: ({ db, ledger, networks, provider, checkpoint }) =>
        anchorHandler({ db, ledger, networks, provider, checkpoint }),
    },
  ],
  loops: ({ db, ledger, secrets, wakes, logger }) => [
    startLoop({
      logger,
      fields: {},
      trouble: 'decision records could not be chained',
      paceMs: chainEveryMs,
      rest: { wakes, topic: 'decisions' },
      run: async () => {
        const { hasMore, isLong } = await db.transaction(chainWaiting);
        if (isLong) await sealRoot({ db, secrets });
        if (ledger.isBusy) return chainWhileBusyMs;
        return hasMore ? 0 : 'rest';
      },
    }),
  ],
  jobs: (parts, settings) => [handleJob(anchorJob, () => anchorNewest(parts, settings))],
  schedules: (parts, settings) => [sealSchedule(parts, settings)],
  commands(program, { withSecrets, withMoney, say }) {
    addReplaceCommand(program, withSecrets, say);
    addAnchorCommand(program, withMoney, say);
  },
};

function sealSchedule(parts: WorkingParts, settings: DecisionSettings): Schedule {
  return {
    at: settings.sealAt,
    handler: handleJob(sealJob, async () => {
      await sealRoot(parts);
      await anchorNewest(parts, settings);
    }),
  };
}

async function anchorNewest(parts: WorkingParts, { anchorChain }: DecisionSettings): Promise<void> {
  if (anchorChain !== undefined && canAnchor(parts, anchorChain)) await beginAnchor(parts, anchorChain);
}

type WithSecrets = (work: (parts: SealParts) => Promise<void>) => Promise<void>;
type WithMoney = (work: (parts: CommandParts, settings: DecisionSettings) => Promise<void>) => Promise<void>;

function addReplaceCommand(program: Command, withSecrets: WithSecrets, say: (line: string) => void): void {
  commandGroup(program, 'decisions')
    .description('records of what policies decided')
    .command('replace-key')
    .description('sign roots with a new key from now on; the public keys of all roots stay published')
    .action(() =>
      withSecrets(async ({ db, secrets }) => {
        const { keyId } = await db.transaction(async (tx) => {
          await lockUntilCommit(tx, 'decisions');
          return replaceSigner(tx, secrets);
        });
        say(`Roots are signed with the key ${keyId} from now on.`);
      }),
    );
}

function addAnchorCommand(program: Command, withMoney: WithMoney, say: (line: string) => void): void {
  commandGroup(program, 'decisions')
    .command('anchor')
    .description('sign a root now, and anchor it on ANCHOR_CHAIN')
    .action(() =>
      withMoney(async (parts, { anchorChain }) => {
        if (anchorChain === undefined) throw new Refusal('ANCHOR_CHAIN is none: set it to the chain to anchor on.');
        if (!canAnchor(parts, anchorChain))
          throw new Refusal(`${anchorChain} is off, or the wallets are not of our own keys.`);
        const root = await sealRoot(parts, { always: true });
        await enqueue(parts.db, anchorJob, {}, { delayMs: anchorDelayMs, key: anchorJob.name });
        say(`Root ${root} is signed. The service will anchor it on ${anchorChain}.`);
      }),
    );
}
