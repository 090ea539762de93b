import { defineErrors } from '../../kernel/http/problem.ts';

export const reserveErrors = defineErrors({
  snapshot_not_found: {
    status: 404,
    title: 'Snapshot not found',
    detail:
      'The snapshot does not exist, or its leaves are older than a day and no longer kept. Omit snapshotId to get the newest snapshot.',
  },
  proof_not_ready: {
    status: 503,
    title: 'Proof not ready',
    detail: 'The first snapshot is being taken. Try again in a moment.',
  },
});
