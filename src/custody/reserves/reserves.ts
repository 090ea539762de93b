import { setTimeout as sleep } from 'node:timers/promises';
import type { Networks } from '../../chains/network.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Database, ReadDatabase } from '../../kernel/db/database.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import { claimsOf } from '../../ledger/balances.ts';
import { toDecimalText } from '../../money/amount.ts';
import {
  type AccountProof,
  findSnapshot,
  type ProofRequest,
  type PublishedProof,
  readProof,
  readRoots,
} from './read-proof.ts';
import { type ReservesReport, reportReserves } from './report.ts';
import { forgetOldLeaves, takeSnapshot } from './take-snapshot.ts';

export interface ReservesOptions {
  readonly db: Database;
  /** The primary if left out. */
  readonly readDb?: ReadDatabase;
  readonly networks: Networks;
  readonly logger: Logger;
  readonly clock: Clock;
  /** How long an answer is cached, which limits how often callers make us ask the chains. */
  readonly reportMaxAgeMs?: number;
  readonly chainTimeoutMs?: number;
  /** An owner whose balance has changed gets a new snapshot, but not more often than this. */
  readonly snapshotMinAgeMs?: number;
  /** An older snapshot is replaced on request, because the hourly one was missed. */
  readonly snapshotMaxAgeMs?: number;
  /** How long a request waits for a snapshot in progress. */
  readonly patienceMs?: number;
}

export interface Reserves {
  report(): Promise<ReservesReport>;
  /** The roots of the newest snapshot, or of the one with this id; null when there is none. */
  published(snapshotId?: string): Promise<PublishedProof | null>;
  /** Undefined when there is no such snapshot, none yet, or its leaves are deleted. */
  prove(request: ProofRequest & { readonly snapshotId?: string | undefined }): Promise<AccountProof | undefined>;
  /** Takes a snapshot unless one was just taken, and deletes the oldest leaves. */
  snapshot(): Promise<void>;
  /** Starts the same. Returns when it is done or after a while; it continues in the background and logs a failure. */
  beginSnapshot(): Promise<void>;
}

const minutes = 60_000;

export function createReserves(options: ReservesOptions): Reserves {
  const { db, readDb = db, networks, logger, clock, chainTimeoutMs = 8_000, reportMaxAgeMs = 5_000 } = options;
  const { snapshotMinAgeMs = 10 * minutes, snapshotMaxAgeMs = 120 * minutes, patienceMs = 10_000 } = options;

  let reported: { readonly report: Promise<ReservesReport>; readonly at: number } | undefined;

  /** Concurrent callers share one report, and a recent one is reused. */
  function report(): Promise<ReservesReport> {
    if (reported !== undefined && clock.now() - reported.at < reportMaxAgeMs) return reported.report;
    const asked = {
      report: reportReserves({ db: readDb, networks, logger, chainTimeoutMs }),
      at: Number.POSITIVE_INFINITY,
    };
    reported = asked;
    asked.report.then(
      () => {
        asked.at = clock.now();
      },
      () => {
        if (reported === asked) reported = undefined;
      },
    );
    return asked.report;
  }

  let taking: Promise<void> | undefined;

  function snapshot(): Promise<void> {
    taking ??= takeSnapshot(db, { minAgeMs: snapshotMinAgeMs })
      .then(() => forgetOldLeaves(db))
      .finally(() => {
        taking = undefined;
      });
    return taking;
  }

  /** A caller that waits in vain gets what there is. */
  async function waitForSnapshot(ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const enough = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    });
    const taken = snapshot().catch((err: unknown) => logger.error({ err }, 'taking a snapshot of the reserves failed'));
    await Promise.race([taken, enough]).finally(() => clearTimeout(timer));
  }

  /** The newest proof, after a new snapshot if needed. */
  async function readCurrent(request: ProofRequest): Promise<AccountProof | undefined> {
    let proof: AccountProof | undefined;
    // A snapshot in progress may have started too early, so one more is awaited.
    for (let taken = 0; ; taken++) {
      const newest = await findSnapshot(readDb);
      proof = newest && (await readProof(readDb, newest, request));
      if (taken === 2) return proof;
      if (newest !== undefined && proof !== undefined && newest.ageMs < snapshotMaxAgeMs) {
        const tooEarlyMs = snapshotMinAgeMs - newest.ageMs;
        if (tooEarlyMs > patienceMs || (await isUpToDate(proof, request))) return proof;
        if (tooEarlyMs > 0) await sleep(tooEarlyMs);
      }
      await waitForSnapshot(patienceMs);
    }
  }

  async function isUpToDate({ proofs }: AccountProof, { accountId, chain, asset }: ProofRequest): Promise<boolean> {
    // Over all kinds of account, as in the tree.
    const claims = (await claimsOf(readDb, accountId)).filter(
      (one) => (chain ?? one.chain) === one.chain && (asset ?? one.total.asset) === one.total.asset,
    );
    const same = claims.filter((one) =>
      proofs.some(
        (proof) =>
          proof.chain === one.chain && proof.asset === one.total.asset && proof.balance === toDecimalText(one.total),
      ),
    );
    return claims.length === proofs.length && same.length === claims.length;
  }

  return {
    report,
    async published(snapshotId) {
      let found = await findSnapshot(readDb, snapshotId);
      if (found === undefined && snapshotId === undefined) {
        await waitForSnapshot(patienceMs / 5);
        found = await findSnapshot(readDb);
      }
      return found === undefined ? null : readRoots(readDb, found);
    },
    async prove({ snapshotId, ...request }) {
      if (snapshotId === undefined) return readCurrent(request);
      const found = await findSnapshot(readDb, snapshotId);
      return found && readProof(readDb, found, request);
    },
    snapshot,
    beginSnapshot: () => waitForSnapshot(patienceMs),
  };
}
