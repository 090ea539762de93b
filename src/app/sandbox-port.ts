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

/** The ways in which the demo shop can be searched, each of which may be switched off. */
export const searchWays = ['ucp', 'shopify', 'woocommerce', 'json-ld'] as const;
export type SearchWay = (typeof searchWays)[number];

export interface SandboxSettings {
  /** How the demo shop can be searched. */
  readonly ways: readonly SearchWay[];
  /** Whether it plays a card company on funding links. */
  readonly onRamp: boolean;
  /** Whether gas is charged as in live mode. */
  readonly chargeGas: boolean;
}

/** What stands in for the outside world, once it is open. */
export interface OpenSandbox {
  /** How its chains are reached. */
  readonly networks: ReadonlyMap<ChainId, NetworkSettings>;
  /** Where what is burnt on them is attested. */
  readonly attestationUrl: string;
  /** Where the guard of outgoing requests finds its shops and sellers. */
  readonly names: ReadonlyMap<string, HostAndPort>;
  /** Where a browser on this machine finds a page of its shops; undefined for any other page. */
  readonly linkFor: (url: string) => string | undefined;
  /** Its card company, unless the operator has switched it off. */
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
  /** Of the operator's own PostgreSQL, if there is one. */
  readonly databaseUrl: string | undefined;
  /** Run in reverse when the service stops, and when a later part fails to open. */
  readonly closers: (() => Promise<unknown>)[];
}

/** Where the data is: an operator's PostgreSQL, or the sandbox's own. */
export interface Store {
  readonly url: string;
  close(): Promise<void>;
}

export interface SandboxStoreOptions {
  readonly dataDir: string;
  readonly logger: Logger;
  readonly say: (line: string) => void;
  /** Whether a server that runs in the same folder already may be joined; otherwise there is only one. */
  readonly mayJoin: boolean;
}

/** All that the service uses of the sandbox. */
export interface Sandbox {
  readonly openSandbox: (options: OpenSandboxOptions) => Promise<OpenSandbox>;
  /** How the chains of a sandbox that runs are reached, for a command beside it. */
  readonly connectNetworks: (db: Database) => Promise<OpenSandbox['networks']>;
  /** A PostgreSQL of its own. */
  readonly openSandboxStore: (options: SandboxStoreOptions) => Promise<Store>;
  /** The tables that it would otherwise make by itself. */
  readonly createSandboxTables: (db: Database) => Promise<void>;
  /** In place of the operator's secret. */
  readonly sandboxSecret: (db: Database) => Promise<string>;
  /** For `paywright reset`: what of it lies in the folder, unless it runs there. */
  readonly refuseWhileRunning: (dataDir: string) => void;
  readonly findSandboxState: (dataDir: string) => readonly string[];
  readonly deleteSandboxState: (dataDir: string) => Promise<void>;
  readonly createConsoleNotifier: (say: (line: string) => void) => Notifier;
}
