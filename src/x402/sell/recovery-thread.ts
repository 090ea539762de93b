import { parentPort } from 'node:worker_threads';
import { recoverSigner, type SignedStruct } from './recover-signer.ts';

/** The thread's side of `recovery-threads.ts`: one answer for each batch. */
parentPort?.on('message', (batch: readonly SignedStruct[]) => parentPort?.postMessage(batch.map(recoverSigner)));
