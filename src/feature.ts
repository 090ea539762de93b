import type { Command } from 'commander';
import type { FastifyInstance } from 'fastify';
import type { AccountChanges } from './accounts/account-changes.ts';
import type { OnAccountClosing, UnderWayOf } from './accounts/closing/on-account-closing.ts';
import type { OnKeyRotated, OnKeysEnded } from './accounts/keys/on-keys-ended.ts';
import type { PasswordCost } from './accounts/passwords/passwords.ts';
import type { WalletSource } from './accounts/register.ts';
import type { Attestations } from './bridge/attestations.ts';
import type { Networks } from './chains/network.ts';
import type { SilentChains } from './chains/silent-chains.ts';
import type { Checkpoint } from './checkpoint.ts';
import type { Clock } from './clock.ts';
import type { RateLimitConfig } from './config.ts';
import type { Database } from './db/database.ts';
import type { OnDeposits } from './deposits/on-deposits.ts';
import type { EventType } from './event-types.ts';
import type { OnRamp } from './funding/on-ramp.ts';
import type { Route } from './http/define-route.ts';
import type { Readiness, ReadinessChecks } from './http/health.ts';
import type { Once } from './http/idempotency.ts';
import type { Chapter, OpenApiDocument } from './http/openapi.ts';
import type { JobHandler } from './jobs/define-job.ts';
import type { Schedule } from './jobs/worker.ts';
import type { Ledger } from './ledger/ledger.ts';
import type { Logger } from './logger.ts';
import type { Notifier } from './messages/notifier.ts';
import type { MetricSource } from './metrics/metric.ts';
import type { Sealed } from './operator-secret/sealed.ts';
import type { ShopCheckouts } from './orders/checkout.ts';
import type { Outgoing } from './outgoing/outgoing.ts';
import type { Parser } from './parser/parser.ts';
import type { RateLimiter } from './rate-limit/limiter.ts';
import type { Saga } from './sagas/define-saga.ts';
import type { SagaHandler } from './sagas/run-saga.ts';
import type { Secrets } from './secrets.ts';
import type { Mode, Settings } from './settings.ts';
import type { Shopping } from './shopping/open-shopping.ts';
import type { SigningKey } from './signed-requests/signing-key.ts';
import type { Market } from './swaps/market.ts';
import type { GasCosts } from './treasury/gas-costs.ts';
import type { WalletProvider } from './wallets/provider.ts';
import type { SeedRotation } from './wallets/seed-rotation.ts';
import type { UnknownTransactions } from './wallets/unknown-transactions.ts';
import type { Brakes } from './withdrawals/brakes.ts';
import type { Screening } from './withdrawals/screening.ts';

/** What every feature may stand on: doors and ports, never an adapter. */
export interface Parts {
  readonly mode: Mode;
  readonly db: Database;
  readonly ledger: Ledger;
  readonly networks: Networks;
  readonly silentChains: SilentChains;
  readonly provider: WalletProvider & Pick<WalletSource, 'giveBack'>;
  readonly secrets: Secrets;
  /** Where one asset is exchanged for another, and what it is worth. */
  readonly market: Market;
  /** What gas costs, as it is charged. */
  readonly gasCosts: GasCosts;
  /** For every request to a URL that somebody else has chosen. */
  readonly outgoing: Outgoing;
  /** For everything that strangers answer there. */
  readonly parser: Parser;
  /** Other people's shops, and the ways to search them. */
  readonly shops: Shopping;
  /** Shops that take orders by themselves. */
  readonly checkouts: ShopCheckouts;
  /** With which we sign what we ask of shops. */
  readonly agentKey: () => Promise<SigningKey>;
  /** Who sells stablecoins by card, as the operator has chosen. */
  readonly onRamps: readonly OnRamp[];
  /** The addresses outside that no money goes to or comes from. */
  readonly screening: Screening;
  /** What slows down money that leaves. */
  readonly brakes: Brakes;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly checkpoint: Checkpoint;
  /** Where the service is reached; known for certain only once it listens. */
  readonly publicUrl: () => string;
  /** What webhooks may be registered for: the events of all features. */
  readonly events: readonly EventType[];
  /** The sagas of all features. */
  readonly sagas: readonly Saga[];
  /** What all features do when something is deposited. */
  readonly onDeposits: OnDeposits;
  /** What all features have to tell, or to end, when API keys end. */
  readonly onKeysEnded: OnKeysEnded;
  /** What all features hand over when a key is rotated. */
  readonly onKeyRotated: OnKeyRotated;
  /** What all features lock before an account closes. */
  readonly beforeAccountClosing: OnAccountClosing;
  /** What all features erase when an account closes. */
  readonly onAccountClosing: OnAccountClosing;
  /** What all features have under way for an account, beside sagas. */
  readonly underWayOf: UnderWayOf;
}

/** In a process that answers requests. */
export interface ServingParts extends Parts {
  readonly once: Once;
  readonly limiter: RateLimiter;
  readonly rateLimits: RateLimitConfig;
  readonly accountChanges: AccountChanges;
  /** The usual one, except under test. */
  readonly passwordCost?: PasswordCost | undefined;
}

/** For what is answered outside the API. */
interface PageParts {
  readonly document: () => OpenApiDocument;
  /** What /ready would say now. */
  readonly readiness: Readiness;
}

/** In a process that runs jobs. */
export interface WorkingParts extends Parts {
  readonly notifier: Notifier;
  readonly attestations: Attestations;
}

/** For a command of the operator, beside the running service. */
export interface CommandParts {
  readonly db: Database;
  readonly ledger: Ledger;
  readonly networks: Networks;
  readonly provider: WalletProvider;
  readonly secrets: Secrets;
  /** Only where the keys are our own. */
  readonly seedRotation: SeedRotation | undefined;
  /** Likewise. */
  readonly unknownTransactions: UnknownTransactions | undefined;
  readonly sagas: readonly Saga[];
}

export interface CommandTools<Own> {
  /** Opens the database only. */
  withDatabase(work: (db: Database, settings: Own) => Promise<void>): Promise<void>;
  /** With what is hashed and sealed by the operator's secret. */
  withSecrets(work: (parts: Pick<CommandParts, 'db' | 'secrets'>, settings: Own) => Promise<void>): Promise<void>;
  /** With the ledger, the chains and whoever holds the keys. A sandbox has to be running. */
  withMoney(work: (parts: CommandParts, settings: Own) => Promise<void>): Promise<void>;
  say(line: string): void;
  /** Who gives the command, for the audit log. */
  readonly operator: string;
  /** The sagas of all features. */
  readonly sagas: readonly Saga[];
  /** What all features do when something is deposited. */
  readonly onDeposits: OnDeposits;
  /** What all features have to tell, or to end, when API keys end. */
  readonly onKeysEnded: OnKeysEnded;
}

/** A saga and, given what it works with, the code that runs it. */
interface FeatureSaga<Own, More> {
  readonly saga: Saga;
  handler(parts: WorkingParts & More, settings: Own): SagaHandler;
}

/**
 * One part of the service, as `feature.ts` in its folder declares it; app/features.ts lists them all, and everything else
 * follows from that line. `Own` is what its settings say, `More` what only an adapter may ask for beside the parts.
 */
export interface Feature<Own = unknown, More = unknown> {
  readonly name: string;
  readonly settings?: Settings<Own>;
  /** Of the reference, in the order of the list. */
  readonly chapters?: readonly Chapter[];
  readonly events?: readonly EventType[];
  /** Jobs, resumption, guards, the operator's list, diagrams and crash tests follow from each. */
  readonly sagas?: readonly FeatureSaga<Own, More>[];
  /** What it seals with the operator's secret, and where that is kept: a new secret seals it again. */
  readonly sealed?: readonly Sealed[];
  commands?(program: Command, tools: CommandTools<Own>): void;

  routes?(parts: ServingParts & More, settings: Own): readonly Route[];
  /** What is answered outside the API, to people and to those who have no key. */
  pages?(app: FastifyInstance, parts: ServingParts & More & PageParts): void;
  /** For the operator's /metrics, in every process. Labels have few values, and none of them is anybody's. */
  metrics?(parts: Parts & More, settings: Own): readonly MetricSource[];
  /** For /ready. */
  checks?(parts: ServingParts & More): ReadinessChecks;

  /** Before any loop or job of this process. */
  onStart?(parts: WorkingParts & More, settings: Own): Promise<void>;
  jobs?(parts: WorkingParts & More, settings: Own): readonly JobHandler[];
  schedules?(parts: WorkingParts & More, settings: Own): readonly Schedule[];
  /** Part of the commit that credits deposits, before the posting. Everybody's deposits wait for it: nothing slow. */
  onDeposits?: OnDeposits;
  /** Part of the commit that ends API keys: names what was made with them and outlasts them, or ends it too. */
  onKeysEnded?: OnKeysEnded;
  /** Part of the commit that rotates an API key: hands what was made with the old one over to the new one. */
  onKeyRotated?: OnKeyRotated;
  /** The first part of the commit that closes an account: locks what others lock before ledger accounts, and writes nothing. */
  beforeAccountClosing?: OnAccountClosing;
  /**
   * The last part of that commit: erases what is known of the person. The account's row is locked, so requests that hold the key live
   * have either written before, or are refused.
   */
  onAccountClosing?(parts: Pick<Parts, 'publicUrl'>): OnAccountClosing;
  /** What keeps an account from being closed. Open sagas with an `account_id` do so by themselves. */
  underWayOf?: UnderWayOf;
  /** They run from the call on, until they are stopped. */
  loops?(parts: WorkingParts & More, settings: Own): readonly { stop(): Promise<void> }[];
}
