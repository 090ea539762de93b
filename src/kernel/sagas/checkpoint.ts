/** Called between two steps of a saga. The running service does nothing there; the crash test ends the process. */
export type Checkpoint = (name: string) => void;

export const noCheckpoint: Checkpoint = () => {};

/** Thrown by a checkpoint. The saga runner does not retry it, because a dead process would not either. */
export class Ended extends Error {
  override readonly name = 'Ended';
}
