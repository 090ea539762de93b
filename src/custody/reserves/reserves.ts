import { setTimeout as sleep } from 'node:timers/promises';
import type { Networks } from '../../chains/network.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import { claimsOf } from '../../ledger/balances.ts';
import { toDecimalText } from '../../money/amount.ts';
import { forgetOldLeaves } from './forget-leaves.ts';
import {
  type AccountProof,
  findSnapshot,
  type ProofRequest,
  type PublishedProof,
  readProof,
  readRoots,
} from './read-proof.ts';
import { type ReservesReport, reportReserves } from './report.ts';
import { takeSnapshot } from './take-snapshot.ts';

export interface ReservesOptions {
  readonly db: Database;
  readonly networks: Networks;
  readonly logger: Logger;
  readonly clock: Clock;
  /** How old an answer may be: nobody makes us ask the chains more often. */
  readonly reportMaxAgeMs?: number;
  readonly chainTimeoutMs?: number;
  /** Somebody whose balance has changed since gets a new snapshot, but not more often than this. */
  readonly snapshotMinAgeMs?: number;
  /** An older snapshot is replaced when somebody asks: then the hourly one was missed. */
  readonly snapshotMaxAgeMs?: number;
  /** How long somebody waits for a snapshot that is being taken. */
  readonly patienceMs?: number;
}

export interface Reserves {
  report(): Promise<ReservesReport>;
  /** The roots of the newest snapshot, or of the one that is asked for; null when there is none. */
  published(snapshotId?: string): Promise<PublishedProof | null>;
  /** Undefined when there is no such snapshot, none yet, or its leaves are gone. */
  prove(request: ProofRequest & { readonly snapshotId?: string | undefined }): Promise<AccountProof | undefined>;
  /** Takes a snapshot unless one was taken just now, and forgets the oldest. */
  snapshot(): Promise<void>;
  /** Begins the same. Answers when it is done, or after a while: it goes on by itself, and says so when it fails. */
  beginSnapshot(): Promise<void>;
}

const minutes = 60_000;

export function createReserves(options: ReservesOptions): Reserves {
  const { db, networks, logger, clock, chainTimeoutMs = 8_000, reportMaxAgeMs = 5_000 } = options;
  const { snapshotMinAgeMs = 10 * minutes, snapshotMaxAgeMs = 120 * minutes, patienceMs = 10_000 } = options;

  let reported: { readonly report: Promise<ReservesReport>; readonly at: number } | undefined;

  /** One question at a time, however many ask; and what was answered a moment ago is the answer. */
  function report(): Promise<ReservesReport> {
    if (reported !== undefined && clock.now() - reported.at < reportMaxAgeMs) return reported.report;
    const asked = { report: reportReserves({ db, networks, logger, chainTimeoutMs }), at: Number.POSITIVE_INFINITY };
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

  /** Whoever waits in vain is answered with what there is. */
  async function waitForSnapshot(ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const enough = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    });
    const taken = snapshot().catch((err: unknown) => logger.error({ err }, 'a snapshot of the reserves failed'));
    await Promise.race([taken, enough]).finally(() => clearTimeout(timer));
  }

  /** The newest proof, after a new snapshot when there is reason for one. */
  async function readCurrent(request: ProofRequest): Promise<AccountProof | undefined> {
    let proof: AccountProof | undefined;
    // A snapshot that was under way may have been begun too early, so a second one is waited for, and no more.
    for (let taken = 0; ; taken++) {
      const newest = await findSnapshot(db);
      proof = newest && (await readProof(db, newest, request));
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
    // All kinds of account together, as in the tree.
    const claims = (await claimsOf(db, accountId)).filter(
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
      let found = await findSnapshot(db, snapshotId);
      if (found === undefined && snapshotId === undefined) {
        await waitForSnapshot(patienceMs / 5);
        found = await findSnapshot(db);
      }
      return found === undefined ? null : readRoots(db, found);
    },
    async prove({ snapshotId, ...request }) {
      if (snapshotId === undefined) return readCurrent(request);
      const found = await findSnapshot(db, snapshotId);
      return found && readProof(db, found, request);
    },
    snapshot,
    beginSnapshot: () => waitForSnapshot(patienceMs),
  };
}
