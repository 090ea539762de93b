import type { Env } from './files.ts';
import type { Session } from './session.ts';

/** What every command gets. */
export interface Tools {
  readonly env: Env;
  /** Opens the session of the stored login or of the variables. */
  readonly session: () => Session;
  /** The result: with --json the value, else the text for people. */
  readonly print: (value: unknown, text: string) => void;
  /** For people, beside the result. */
  readonly note: (line: string) => void;
  readonly warn: (line: string) => void;
  readonly isJson: () => boolean;
}
