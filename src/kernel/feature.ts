import type { Command } from 'commander';
import type { FastifyInstance } from 'fastify';
import type { Database } from './db/database.ts';
import type { GatherHook, Hooked } from './hook.ts';
import type { Route } from './http/define-route.ts';
import type { ReadinessChecks } from './http/health.ts';
import type { Chapter } from './http/openapi.ts';
import type { JobHandler } from './jobs/define-job.ts';
import type { Schedule } from './jobs/worker.ts';
import type { MetricSource } from './metrics/metric.ts';
import type { Saga } from './sagas/define-saga.ts';
import type { SagaHandler } from './sagas/run-saga.ts';
import type { Sealed } from './secrets/sealed.ts';
import type { Secrets } from './secrets/secrets.ts';
import type { Settings } from './settings.ts';

/**
 * The parts that a feature needs in each role, named in the feature's own terms. app/features.ts compiles only if the
 * service provides every part named here.
 */
interface Needs {
  readonly settings: unknown;
  /** In a process that serves requests. */
  readonly serving: unknown;
  /** In a process that serves requests, for responses outside the API. */
  readonly pages: unknown;
  /** In a process that runs jobs. */
  readonly working: unknown;
  /** In every process. */
  readonly metrics: unknown;
  /** For operator commands that run beside the service. */
  readonly commands: unknown;
}

/** What a feature's commands receive. Nothing is opened before a command runs. */
export interface CommandTools<Own, Parts> {
  readonly withDatabase: (work: (db: Database, settings: Own) => Promise<void>) => Promise<void>;
  /** Connects as the role that owns the tables, where the operator has set MIGRATION_DATABASE_URL. */
  readonly withOwner: (
    work: (owner: { readonly db: Database; readonly url: string }) => Promise<void>,
  ) => Promise<void>;
  /** Opens the operator's secret as well. */
  readonly withSecrets: (
    work: (parts: { readonly db: Database; readonly secrets: Secrets }, settings: Own) => Promise<void>,
  ) => Promise<void>;
  /** Opens everything, chains included. A sandbox must be running. */
  readonly withMoney: (work: (parts: Parts, settings: Own) => Promise<void>) => Promise<void>;
  readonly say: (line: string) => void;
  /** Asks the person at the terminal. Without a terminal the answer is no. */
  readonly confirm: (question: string) => Promise<boolean>;
  /** The operator's name for the audit log. */
  readonly operator: string;
  /** The sagas of all features. */
  readonly sagas: readonly Saga[];
  readonly gatherHook: GatherHook;
}

/** An event that a webhook may subscribe to. ledger/event-types.ts has the full type. */
interface DeclaredEvent {
  readonly name: string;
  describe?(posting: never, partyOf: never): Readonly<Record<string, unknown>>;
}

/** `unknown` for a role in which the feature needs nothing. */
type Of<Named, Role extends keyof Needs> = (Needs & Named)[Role];

type From<Named, Role extends keyof Needs, Result> = (
  parts: Of<Named, Role>,
  settings: Of<Named, 'settings'>,
) => Result;

/**
 * One part of the service, declared by `feature.ts` in its folder and listed in app/features.ts. Members that receive
 * parts are properties, not methods, because TypeScript would let a method ask for more than it receives.
 */
export interface Feature<Named extends Partial<Needs> = object> {
  readonly name: string;
  readonly settings?: Settings<Of<Named, 'settings'>>;
  /** Chapters of the API reference, in this order. */
  readonly chapters?: readonly Chapter[];
  readonly events?: readonly DeclaredEvent[];
  /** Each saga brings its jobs, resumption, guards, the operator's list, diagrams and crash tests. */
  readonly sagas?: readonly { readonly saga: Saga; readonly handler: From<Named, 'working', SagaHandler> }[];
  /** What the feature seals with the operator's secret, so that a rotation reseals it. */
  readonly sealed?: readonly Sealed[];
  /** Handlers for hooks that other rooms declare. */
  readonly hooks?: readonly Hooked[];
  readonly commands?: (program: Command, tools: CommandTools<Of<Named, 'settings'>, Of<Named, 'commands'>>) => void;

  readonly routes?: From<Named, 'serving', readonly Route[]>;
  /** For /ready. */
  readonly checks?: (parts: Of<Named, 'serving'>) => ReadinessChecks;
  /** Responses outside the API, for people and for clients without a key. */
  readonly pages?: (app: FastifyInstance, parts: Of<Named, 'pages'>) => void;
  /** For the operator's /metrics. Labels have few values and never identify an account. */
  readonly metrics?: From<Named, 'metrics', readonly MetricSource[]>;

  /** Runs before any loop or job of this process. */
  readonly onStart?: From<Named, 'working', Promise<void>>;
  readonly jobs?: From<Named, 'working', readonly JobHandler[]>;
  readonly schedules?: From<Named, 'working', readonly Schedule[]>;
  /** Loops that run until they are stopped. */
  readonly loops?: From<Named, 'working', readonly { stop(): Promise<void> }[]>;
}

/**
 * Finds or creates the group of commands with this first word, because features of several rooms may add to one group.
 */
export function commandGroup(program: Command, name: string): Command {
  return program.commands.find((command) => command.name() === name) ?? program.command(name);
}
