import type { Queryable } from '../db/database.ts';
import { defineHook } from '../hook.ts';

/** Lines that another room adds to `paywright sagas show`. */
export type SagaDetails = (db: Queryable, sagaId: string) => Promise<string[]>;

export const sagaDetails = defineHook<SagaDetails>();
