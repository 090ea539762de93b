import type { AccountChanges } from '../accounts/account-changes.ts';
import type { Notifier } from '../accounts/messages/notifier.ts';
import type { PasswordCost } from '../accounts/passwords/passwords.ts';
import type { WalletSource } from '../accounts/register.ts';
import type { Networks } from '../chains/network.ts';
import type { SilentChains } from '../chains/silent-chains.ts';
import type { CirclePages, CircleWork } from '../custody/adapters/circle/feature.ts';
import type { Brakes } from '../custody/limits/brakes.ts';
import type { Screening } from '../custody/limits/screening.ts';
import type { GasCosts } from '../custody/treasury/gas-costs.ts';
import type { WalletProvider } from '../custody/wallets/provider.ts';
import type { SeedRotation } from '../custody/wallets/seed-rotation.ts';
import type { UnknownTransactions } from '../custody/wallets/unknown-transactions.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Database } from '../kernel/db/database.ts';
import type { GatherHook } from '../kernel/hook.ts';
import type { Readiness } from '../kernel/http/health.ts';
import type { OpenApiDocument } from '../kernel/http/openapi.ts';
import type { Logger } from '../kernel/log/logger.ts';
import type { Outgoing } from '../kernel/outgoing/outgoing.ts';
import type { Parser } from '../kernel/parser/parser.ts';
import type { RateLimiter } from '../kernel/rate-limit/limiter.ts';
import type { RateLimitConfig } from '../kernel/rate-limit/rate-limit-config.ts';
import type { Checkpoint } from '../kernel/sagas/checkpoint.ts';
import type { Saga } from '../kernel/sagas/define-saga.ts';
import type { Secrets } from '../kernel/secrets/secrets.ts';
import type { Mode } from '../kernel/settings.ts';
import type { SigningKey } from '../kernel/signing/signing-key.ts';
import type { EventType } from '../ledger/event-types.ts';
import type { Once } from '../ledger/idempotency.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Market } from '../money/market.ts';
import type { Attestations } from '../payments/bridge/attestations.ts';
import type { OnRamp } from '../payments/funding/on-ramp.ts';
import type { ShopCheckouts } from '../shopping/orders/checkout.ts';
import type { Shopping } from '../shopping/search/open-shopping.ts';
import type { OpenSandbox } from './sandbox-port.ts';

/** The sum of all ports: what the service has for its features, in every process. */
export interface Parts extends Pick<CirclePages & CircleWork, 'circle' | 'onTransaction'> {
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
  readonly gatherHook: GatherHook;
  /** What stands in for the outside world; undefined in live mode. */
  readonly sandbox: OpenSandbox | undefined;
}

/** In a process that answers requests. */
export interface ServingParts extends Parts {
  readonly once: Once;
  readonly limiter: RateLimiter;
  readonly rateLimits: RateLimitConfig;
  readonly accountChanges: AccountChanges;
  /** The usual one, except under test. */
  readonly passwordCost: PasswordCost | undefined;
}

/** For what is answered outside the API. */
export interface PageParts extends ServingParts {
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
