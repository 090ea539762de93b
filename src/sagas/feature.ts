import type { Feature } from '../feature.ts';
import { addSagaCommands } from './commands.ts';
import { resumeAllSagas, resumeSagasSchedule } from './resume-sagas.ts';
import { sagaMetrics } from './saga-metrics.ts';

export const sagas: Feature = {
  name: 'sagas',
  commands: (program, tools) => addSagaCommands(program, tools),
  metrics: ({ db, sagas: declared }) => [sagaMetrics(db, declared)],
  onStart: ({ db, sagas: declared }) => resumeAllSagas(db, declared),
  schedules: ({ db, sagas: declared }) => [resumeSagasSchedule(db, declared)],
};
