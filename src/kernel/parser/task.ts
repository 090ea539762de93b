/**
 * Something that the parser's process reads: its name there, and what goes in and comes out. Only the type of the function is known
 * here. What it is made of is never loaded by the service itself.
 */
export interface Task<Input, Output> {
  readonly name: string;
  /** Never there: it carries the types. */
  readonly reads?: (input: Input) => Output;
}

export function taskOf<Read extends (input: never) => unknown>(
  name: string,
): Task<Parameters<Read>[0], ReturnType<Read>> {
  return { name };
}

/** What a stranger has answered, as a task gets it. */
export interface AnswerBytes {
  readonly bytes: Uint8Array;
  /** Its content type, as claimed. */
  readonly type: string;
}
