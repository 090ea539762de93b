import type { AccountChanges } from '../accounts/account-changes.ts';
import type { WalletSource } from '../accounts/insert-account.ts';
import type { KeyIdleness } from '../accounts/keys/key-lifetime.ts';
import type { Notifier } from '../accounts/messages/notifier.ts';
import type { Passwords } from '../accounts/passwords/passwords.ts';
import type { SignInThrottle } from '../accounts/passwords/sign-in-throttle.ts';
import type { Networks, SilentChains } from '../chains/network.ts';
import type { CirclePages, CircleWork } from '../custody/adapters/circle/feature.ts';
import type { Screening } from '../custody/limits/allow-list.ts';
import type { OutgoingLimits } from '../custody/limits/outgoing-limits.ts';
import type { GasCosts } from '../custody/treasury/gas-costs.ts';
import type { SeedRotation, UnknownTransactions, WalletProvider } from '../custody/wallets/provider.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Database, ReadDatabase } from '../kernel/db/database.ts';
import type { GatherHook } from '../kernel/hook.ts';
import type { Route } from '../kernel/http/define-route.ts';
import type { Readiness } from '../kernel/http/health.ts';
import type { OpenApiDocument } from '../kernel/http/openapi.ts';
import type { ApiAccess } from '../kernel/http/server.ts';
import type { Wakes } from '../kernel/jobs/wakes.ts';
import type { Logger } from '../kernel/log/logger.ts';
import type { Outgoing } from '../kernel/outgoing/outgoing.ts';
import type { Parser } from '../kernel/parser/parser.ts';
import type { RateLimiter } from '../kernel/rate-limit/limiter.ts';
import type { RateLimits } from '../kernel/rate-limit/rate-limits.ts';
import type { Checkpoint } from '../kernel/sagas/checkpoint.ts';
import type { Saga } from '../kernel/sagas/define-saga.ts';
import type { Secrets } from '../kernel/secrets/secrets.ts';
import type { Mode } from '../kernel/settings.ts';
import type { SigningKey } from '../kernel/signing/signing-key.ts';
import type { EventType } from '../ledger/event-types.ts';
import type { RunOnce } from '../ledger/idempotency.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Market } from '../money/market.ts';
import type { Attestations } from '../payments/bridge/attestations.ts';
import type { OnRamp } from '../payments/funding/on-ramp.ts';
import type { ExplainedConsent } from '../policies/create-consent.ts';
import type { Way } from '../policies/way.ts';
import type { ShopCheckouts } from '../shopping/orders/checkout.ts';
import type { Shopping } from '../shopping/search/open-shopping.ts';
import type { OpenSandbox } from './sandbox-port.ts';

/** All ports that the service provides to features, in every process. */
export interface Parts extends Pick<CirclePages & CircleWork, 'circle' | 'onTransaction'> {
  readonly mode: Mode;
  readonly db: Database;
  readonly ledger: Ledger;
  readonly networks: Networks;
  readonly silentChains: SilentChains;
  readonly provider: WalletProvider & Pick<WalletSource, 'giveBack'>;
  readonly secrets: Secrets;
  /** Exchanges one asset for another, and prices them. */
  readonly market: Market;
  readonly gasCosts: GasCosts;
  /** For every request to a URL that a third party chose. */
  readonly outgoing: Outgoing;
  /** Parses the responses to those requests. */
  readonly parser: Parser;
  readonly shops: Shopping;
  /** Shops with a checkout API. */
  readonly checkouts: ShopCheckouts;
  /** The key that signs our requests to shops. */
  readonly agentKey: () => Promise<SigningKey>;
  /** Card payment providers that the operator has configured. */
  readonly onRamps: readonly OnRamp[];
  /** Sanctioned addresses, which must not send or receive money. */
  readonly screening: Screening;
  readonly brakes: OutgoingLimits;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly checkpoint: Checkpoint;
  /** The public URL. Without PUBLIC_URL it is known only once the service listens. */
  readonly publicUrl: () => string;
  /** The events of all features, which webhooks may subscribe to. */
  readonly events: readonly EventType[];
  readonly sagas: readonly Saga[];
  readonly gatherHook: GatherHook;
  /** Undefined in live mode. */
  readonly sandbox: OpenSandbox | undefined;
}

/** For a process that serves requests. */
export interface ServingParts extends Parts, KeyIdleness {
  readonly readDb: ReadDatabase;
  readonly once: RunOnce;
  readonly limiter: RateLimiter;
  readonly rateLimits: RateLimits;
  readonly accountChanges: AccountChanges;
  /** Of the caller's key and all keys above it, to a payment. */
  readonly consent: ExplainedConsent;
  /** How each operation pays, for simulating it. */
  readonly ways: readonly Way[];
  /** All routes, for requests that run again. */
  readonly routes: () => readonly Route[];
  readonly wakes: Wakes;
  /** Aborted when the process begins to stop, so that nobody waits for it. */
  readonly stopping: AbortSignal;
  readonly passwords: Passwords;
  readonly throttle: SignInThrottle;
}

/** For responses outside the API. */
export interface PageParts extends ServingParts {
  readonly document: () => OpenApiDocument;
  readonly api: ApiAccess;
  /** The checks of /ready. */
  readonly readiness: Readiness;
}

/** For a process that runs jobs. */
export interface WorkingParts extends Parts {
  readonly notifier: Notifier;
  readonly attestations: Attestations;
  readonly wakes: Wakes;
}

/** For an operator command that runs beside the service. */
export interface CommandParts extends Pick<Parts, 'db' | 'ledger' | 'networks' | 'secrets' | 'sagas'> {
  readonly provider: WalletProvider;
  /** Only with our own keys. */
  readonly seedRotation: SeedRotation | undefined;
  /** Only with our own keys. */
  readonly unknownTransactions: UnknownTransactions | undefined;
}
