import type { Database } from '../db/database.ts';
import type { Feature } from '../feature.ts';
import { addSagaCommands } from './commands.ts';
import type { Saga } from './define-saga.ts';
import { resumeAllSagas, resumeSagasSchedule } from './resume-sagas.ts';
import { sagaDetails } from './saga-details.ts';
import { sagaMetrics } from './saga-metrics.ts';

interface SagaParts {
  readonly db: Database;
  readonly sagas: readonly Saga[];
}

export const sagas: Feature<{ metrics: SagaParts; working: SagaParts }> = {
  name: 'sagas',
  commands: (program, tools) => addSagaCommands(program, { ...tools, details: tools.gatherHook(sagaDetails) }),
  metrics: ({ db, sagas: declared }) => [sagaMetrics(db, declared)],
  onStart: ({ db, sagas: declared }) => resumeAllSagas(db, declared),
  schedules: ({ db, sagas: declared }) => [resumeSagasSchedule(db, declared)],
};
