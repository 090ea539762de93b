import type { Queryable } from '../db/database.ts';
import { defineHook } from '../hook.ts';

/** What is known of one saga beside its row, a line for each thing. */
export type SagaDetails = (db: Queryable, sagaId: string) => Promise<string[]>;

/** When the operator looks at a saga with `paywright sagas show`. */
export const sagaDetails = defineHook<SagaDetails>();
