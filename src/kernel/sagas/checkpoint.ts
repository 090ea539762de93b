/**
 * Called between two steps of a saga, with the name of what has just been done. In the running service it does nothing;
 * a test ends the process there, and looks whether money was lost or doubled.
 */
export type Checkpoint = (name: string) => void;

export const noCheckpoint: Checkpoint = () => {};

/** What a checkpoint throws to end the work there, as the end of the process would: nobody makes up for it. */
export class Ended extends Error {
  override readonly name = 'Ended';
}
