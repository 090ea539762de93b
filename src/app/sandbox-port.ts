import type { Notifier } from '../accounts/messages/notifier.ts';
import type { NetworkSettings } from '../chains/network.ts';
import type { Database } from '../kernel/db/database.ts';
import type { Route } from '../kernel/http/define-route.ts';
import type { Schedule } from '../kernel/jobs/worker.ts';
import type { Logger } from '../kernel/log/logger.ts';
import type { HostAndPort } from '../kernel/outgoing/private-hosts.ts';
import type { Secrets } from '../kernel/secrets/secrets.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { ChainId } from '../money/catalogue.ts';
import type { OnRamp } from '../payments/funding/on-ramp.ts';
import type { TestCardCompany } from '../web/on-ramp-page.ts';

/** The search APIs of the demo shop. Each may be switched off. */
export const searchWays = ['ucp', 'shopify', 'woocommerce', 'json-ld'] as const;
export type SearchWay = (typeof searchWays)[number];

export interface SandboxSettings {
  readonly ways: readonly SearchWay[];
  /** Whether funding links offer the sandbox's card company. */
  readonly onRamp: boolean;
  readonly chargeGas: boolean;
}

export interface OpenSandbox {
  readonly networks: ReadonlyMap<ChainId, NetworkSettings>;
  readonly attestationUrl: string;
  /** Host names of its shops and sellers, for the guard of outgoing requests. */
  readonly names: ReadonlyMap<string, HostAndPort>;
  /** Where a browser on this machine finds a page of its shops; undefined for other URLs. */
  readonly linkFor: (url: string) => string | undefined;
  /** Undefined when the operator has switched it off. */
  readonly onRamp: (OnRamp & TestCardCompany) | undefined;
  readonly routes: () => readonly Route[];
  readonly onStart: () => Promise<void>;
  readonly schedules: () => readonly Schedule[];
}

export interface OpenSandboxOptions {
  readonly settings: SandboxSettings;
  readonly db: Database;
  readonly ledger: Ledger;
  readonly secrets: Secrets;
  readonly logger: Logger;
  readonly say: (line: string) => void;
  readonly publicUrl: () => string;
  readonly dataDir: string;
  /** The operator's own PostgreSQL, if any. */
  readonly databaseUrl: string | undefined;
  /** Run in reverse order when the service stops, and when a later part fails to open. */
  readonly closers: (() => Promise<unknown>)[];
}

/** The operator's PostgreSQL, or the sandbox's own. */
export interface Store {
  readonly url: string;
  close(): Promise<void>;
}

export interface SandboxStoreOptions {
  readonly dataDir: string;
  readonly logger: Logger;
  readonly say: (line: string) => void;
  /** Whether a server that already runs in the same folder may be shared. */
  readonly mayJoin: boolean;
}

/** The interface between the service and the sandbox. */
export interface Sandbox {
  readonly openSandbox: (options: OpenSandboxOptions) => Promise<OpenSandbox>;
  /** Reaches the chains of a running sandbox, for a command beside it. */
  readonly connectNetworks: (db: Database) => Promise<OpenSandbox['networks']>;
  readonly openSandboxStore: (options: SandboxStoreOptions) => Promise<Store>;
  /** Creates the tables that the sandbox would otherwise create itself. */
  readonly createSandboxTables: (db: Database) => Promise<void>;
  /** Replaces the operator's secret. */
  readonly sandboxSecret: (db: Database) => Promise<string>;
  /** For `paywright reset`. */
  readonly refuseWhileRunning: (dataDir: string) => void;
  readonly findSandboxState: (dataDir: string) => readonly string[];
  readonly deleteSandboxState: (dataDir: string) => Promise<void>;
  readonly createConsoleNotifier: (say: (line: string) => void) => Notifier;
}
