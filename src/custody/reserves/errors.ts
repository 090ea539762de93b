import { defineErrors } from '../../kernel/http/problem.ts';

export const reserveErrors = defineErrors({
  snapshot_not_found: {
    status: 404,
    title: 'Snapshot not found',
    detail:
      'There is no such snapshot, or its leaves are gone: they are kept for a day. Leave snapshotId out for the newest.',
  },
  proof_not_ready: {
    status: 503,
    title: 'No proof yet',
    detail: 'The first snapshot is being taken. Ask again in a moment.',
  },
});
