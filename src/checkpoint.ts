/**
 * Called between two steps of a saga, with the name of what has just been done. In the running service it does nothing;
 * a test ends the process there, and looks whether money was lost or doubled.
 */
export type Checkpoint = (name: string) => void;

export const noCheckpoint: Checkpoint = () => {};
