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
 * What a feature works with, role by role, each in the feature's own words. It leaves out what it does not need. The list
 * in app/features.ts compiles only if the service has every part that is named here.
 */
interface Needs {
  /** What its settings say. */
  readonly settings: unknown;
  /** In a process that answers requests. */
  readonly serving: unknown;
  /** There too, for what is answered outside the API. */
  readonly pages: unknown;
  /** In a process that runs jobs. */
  readonly working: unknown;
  /** In every process. */
  readonly metrics: unknown;
  /** For commands of the operator, beside the running service. */
  readonly commands: unknown;
}

/** What the commands of a feature are given. Nothing is opened before a command runs. */
export interface CommandTools<Own, Parts> {
  /** Opens the database only. */
  readonly withDatabase: (work: (db: Database, settings: Own) => Promise<void>) => Promise<void>;
  /** With what is hashed and sealed by the operator's secret. */
  readonly withSecrets: (
    work: (parts: { readonly db: Database; readonly secrets: Secrets }, settings: Own) => Promise<void>,
  ) => Promise<void>;
  /** With everything that a command may need. A sandbox has to be running. */
  readonly withMoney: (work: (parts: Parts, settings: Own) => Promise<void>) => Promise<void>;
  readonly say: (line: string) => void;
  /** Who gives the command, for the audit log. */
  readonly operator: string;
  /** The sagas of all features. */
  readonly sagas: readonly Saga[];
  readonly gatherHook: GatherHook;
}

/** Something that a webhook may be registered for. The ledger says what it is described from (ledger/event-types.ts). */
interface DeclaredEvent {
  readonly name: string;
  describe?(posting: never, partyOf: never): Readonly<Record<string, unknown>>;
}

/** A saga and, given what it works with, the code that runs it. */
interface FeatureSaga<Working, Own> {
  readonly saga: Saga;
  readonly handler: (parts: Working, settings: Own) => SagaHandler;
}

/** `unknown` for a role that the feature has no needs in. */
type Of<Named, Role extends keyof Needs> = (Needs & Named)[Role];

/**
 * One part of the service, as `feature.ts` in its folder declares it; app/features.ts lists them all, and everything else
 * follows from that line. Members that are given parts are properties, not methods: TypeScript would let a method ask for
 * more than it is given.
 */
export interface Feature<Named extends Partial<Needs> = object> {
  readonly name: string;
  readonly settings?: Settings<Of<Named, 'settings'>>;
  /** Of the reference, in the order of the list. */
  readonly chapters?: readonly Chapter[];
  readonly events?: readonly DeclaredEvent[];
  /** Jobs, resumption, guards, the operator's list, diagrams and crash tests follow from each. */
  readonly sagas?: readonly FeatureSaga<Of<Named, 'working'>, Of<Named, 'settings'>>[];
  /** What it seals with the operator's secret, and where that is kept: a new secret seals it again. */
  readonly sealed?: readonly Sealed[];
  /** What it does at moments that other rooms declare. */
  readonly hooks?: readonly Hooked[];
  readonly commands?: (program: Command, tools: CommandTools<Of<Named, 'settings'>, Of<Named, 'commands'>>) => void;

  readonly routes?: (parts: Of<Named, 'serving'>, settings: Of<Named, 'settings'>) => readonly Route[];
  /** For /ready. */
  readonly checks?: (parts: Of<Named, 'serving'>) => ReadinessChecks;
  /** What is answered outside the API, to people and to those who have no key. */
  readonly pages?: (app: FastifyInstance, parts: Of<Named, 'pages'>) => void;
  /** For the operator's /metrics, in every process. Labels have few values, and none of them is anybody's. */
  readonly metrics?: (parts: Of<Named, 'metrics'>, settings: Of<Named, 'settings'>) => readonly MetricSource[];

  /** Before any loop or job of this process. */
  readonly onStart?: (parts: Of<Named, 'working'>, settings: Of<Named, 'settings'>) => Promise<void>;
  readonly jobs?: (parts: Of<Named, 'working'>, settings: Of<Named, 'settings'>) => readonly JobHandler[];
  readonly schedules?: (parts: Of<Named, 'working'>, settings: Of<Named, 'settings'>) => readonly Schedule[];
  /** They run from the call on, until they are stopped. */
  readonly loops?: (
    parts: Of<Named, 'working'>,
    settings: Of<Named, 'settings'>,
  ) => readonly { stop(): Promise<void> }[];
}
